"""The search page and its assets, and the search box for other sites."""

from importlib.resources import files

from fastapi import FastAPI, Response
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles

_CACHED = "public, max-age=300"


def add_pages(app: FastAPI) -> None:
    web = files("surefind.interfaces") / "web"
    app.mount("/static", StaticFiles(directory=str(web / "static")), name="static")
    page = (web / "index.html").read_text("utf-8")

    @app.head("/", include_in_schema=False)
    @app.get("/", include_in_schema=False)
    async def index() -> HTMLResponse:
        return HTMLResponse(page)

    box = (web / "embed.js").read_bytes()

    @app.head("/embed.js", include_in_schema=False)
    @app.get("/embed.js", include_in_schema=False)
    async def embed() -> Response:
        """Loadable from any site, including sites with Cross-Origin-Embedder-Policy."""
        headers = {"Cross-Origin-Resource-Policy": "cross-origin", "Cache-Control": _CACHED}
        return Response(box, media_type="text/javascript", headers=headers)
