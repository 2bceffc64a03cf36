"""The API reference at /docs, rendered from the OpenAPI document without JavaScript."""

import json
from html import escape
from typing import Any

from fastapi import FastAPI
from fastapi.responses import HTMLResponse

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API reference · surefind</title>
<link rel="icon" type="image/svg+xml" href="/static/favicon.svg">
<link rel="stylesheet" href="/static/style.css">
</head>
<body class="reader">
<header><a href="/">surefind</a> <h1>API reference</h1> <span>version {version}</span></header>
<main>
<article>
<section>OpenAPI document: <a href="/openapi.json">openapi.json</a></section>
{operations}
</article>
</main>
</body>
</html>
"""


def add_reference(app: FastAPI) -> None:
    @app.head("/docs", include_in_schema=False)
    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(render(app.openapi()))


def render(schema: dict[str, Any]) -> str:
    models = schema["components"]["schemas"]
    operations = [
        _operation(method, path, operation, models)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
    version = escape(schema["info"]["version"])
    return _PAGE.format(version=version, operations="\n".join(operations))


def _operation(method: str, path: str, operation: dict[str, Any], models: dict[str, Any]) -> str:
    lines = [
        f"<section><h2>{method.upper()} {escape(path)}</h2>",
        f"<p>{escape(operation.get('description', ''))}</p>",
        _parameters(operation.get("parameters", [])),
        _body(operation, models),
        "<h3>Responses</h3><ul>",
        *(
            f"<li>{escape(status)}: {escape(answer.get('description', ''))}</li>"
            for status, answer in operation["responses"].items()
        ),
        "</ul></section>",
    ]
    return "\n".join(lines)


def _parameters(parameters: list[dict[str, Any]]) -> str:
    if not parameters:
        return ""
    items = (
        f"<li><code>{escape(one['name'])}</code> ({escape(one['in'])}"
        f"{', required' if one.get('required') else ''}): {escape(one.get('description', ''))}</li>"
        for one in parameters
    )
    return f"<h3>Parameters</h3><ul>{''.join(items)}</ul>"


def _body(operation: dict[str, Any], models: dict[str, Any]) -> str:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
    if name not in models:
        return ""
    model = models[name]
    required = model.get("required", [])
    items = (
        f"<li><code>{escape(field)}</code>{' (required)' if field in required else ''}: "
        f"{escape(facts.get('description', facts.get('title', '')))}</li>"
        for field, facts in model.get("properties", {}).items()
    )
    examples = (
        f"<pre>{escape(json.dumps(example, indent=2, ensure_ascii=False))}</pre>"
        for example in model.get("examples", [])[:1]
    )
    return f"<h3>Body</h3><ul>{''.join(items)}</ul>{''.join(examples)}"
