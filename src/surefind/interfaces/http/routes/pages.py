"""The search page, its parts, the box for other sites, and the reader."""

from importlib.resources import files

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles

from surefind.bootstrap import Application
from surefind.errors import SurefindError
from surefind.interfaces.failures import failure_of
from surefind.interfaces.http.routes.reader import render_document, render_problem

_KEPT = "public, max-age=300"


def add_pages(app: FastAPI, application: Application) -> None:
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
        """Any site may load it, also one that asks for a word to that effect."""
        headers = {"Cross-Origin-Resource-Policy": "cross-origin", "Cache-Control": _KEPT}
        return Response(box, media_type="text/javascript", headers=headers)

    @app.head("/read/{name}/{source_path:path}", include_in_schema=False)
    @app.get("/read/{name}/{source_path:path}", include_in_schema=False)
    async def read(request: Request, name: str, source_path: str) -> HTMLResponse:
        try:
            return HTMLResponse(await render_document(application, name, source_path))
        except SurefindError as error:
            if "text/html" not in request.headers.get("accept", ""):
                raise
            status = failure_of(error).http_status
            return HTMLResponse(render_problem(error, source_path), status)
