"""The API reference at /docs, rendered from the OpenAPI document.

Reading it needs no JavaScript; a script adds forms that send requests to this server.
"""

import json
import re
from collections.abc import Iterator
from html import escape
from typing import Any

from fastapi import FastAPI
from fastapi.responses import HTMLResponse

_MOST_ROWS = 20
_REFERENCE = re.compile(r'"#/components/schemas/(\w+)"')
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>API reference · surefind</title>
<link rel="icon" type="image/svg+xml" href="/static/favicon.svg">
<link rel="stylesheet" href="/static/styles/style.css">
<link rel="stylesheet" href="/static/styles/rendered.css">
<link rel="stylesheet" href="/static/styles/reference.css">
<script src="/static/theme.js"></script>
<script src="/static/reference.js" type="module"></script>
</head>
<body class="reader">
<header><a href="/">surefind</a> <h1>API reference</h1> <span>version {version}</span></header>
<main>
<article class="rendered">
<section>OpenAPI document: <a href="/openapi.json">openapi.json</a>
<form id="key" hidden>
<label for="api-key">API key, for servers that require one</label>
<input id="api-key" type="password" autocomplete="off" spellcheck="false">
</form>
</section>
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
    name = operation["operationId"]
    lines = [
        f'<section id="{escape(name)}"><h2>{method.upper()} {escape(path)}</h2>',
        f"<p>{escape(operation.get('description', ''))}</p>",
        _parameters(operation.get("parameters", [])),
        _body(operation, models),
        _form(method, path, operation, models),
        "<h3>Responses</h3><ul>",
        *(
            f"<li>{escape(status)}: {escape(answer.get('description', ''))}</li>"
            for status, answer in operation["responses"].items()
        ),
        "</ul>",
        _answer(operation, models),
        "</section>",
    ]
    return "\n".join(filter(None, lines))


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
    model = _model_in(operation.get("requestBody", {}), models)
    if model is None:
        return ""
    return f"<h3>Body</h3>{_fields(model)}{_example(model)}"


def _answer(operation: dict[str, Any], models: dict[str, Any]) -> str:
    """The fields of a successful response, or else its example, folded away."""
    success = operation["responses"].get("200", {})
    model = _model_in(success, models)
    if model is None:
        example = success.get("content", {}).get("application/json", {}).get("example")
        shown = _example({"examples": [] if example is None else [example]})
        return shown and f"<details><summary>Example of the response</summary>{shown}</details>"
    parts = (
        f"<h4>{escape(name)}</h4><p>{escape(part.get('description', ''))}</p>{_fields(part)}"
        for name, part in _parts_of(model, models).items()
    )
    return (
        f"<details><summary>Fields of the response</summary>{_fields(model)}{_example(model)}"
        f"{''.join(parts)}</details>"
    )


def _parts_of(model: dict[str, Any], models: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The models that a model refers to, nested ones too, in reading order."""
    found: dict[str, dict[str, Any]] = {}
    names = list(_references(model))
    while names:
        name = names.pop(0)
        if name not in found and "properties" in models[name]:
            found[name] = models[name]
            names += _references(models[name])
    return found


def _references(schema: Any) -> Iterator[str]:
    return (found[1] for found in _REFERENCE.finditer(json.dumps(schema)))


def _model_in(message: dict[str, Any], models: dict[str, Any]) -> dict[str, Any] | None:
    """The model of a request's or response's JSON; None if its schema is not a reference."""
    content = message.get("content", {}).get("application/json", {})
    name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
    model: dict[str, Any] | None = models.get(name)
    return model


def _fields(model: dict[str, Any]) -> str:
    required = model.get("required", [])
    items = (
        f"<li><code>{escape(field)}</code>{' (required)' if field in required else ''}: "
        f"{escape(facts.get('description', facts.get('title', '')))}</li>"
        for field, facts in model.get("properties", {}).items()
    )
    return f"<ul>{''.join(items)}</ul>"


def _example(model: dict[str, Any]) -> str:
    return "".join(f"<pre>{escape(_shown(one))}</pre>" for one in model.get("examples", [])[:1])


def _shown(example: Any) -> str:
    return json.dumps(example, indent=2, ensure_ascii=False)


def _form(method: str, path: str, operation: dict[str, Any], models: dict[str, Any]) -> str:
    """A form for one request. The script shows it, because only the script can send it."""
    name = operation["operationId"]
    fields = [
        f'<label>{escape(one["name"])} <input name="{escape(one["name"])}" '
        f'data-in="{escape(one["in"])}" autocomplete="off" spellcheck="false"'
        f"{' required' if one.get('required') else ''}></label>"
        for one in operation.get("parameters", [])
    ]
    if "requestBody" in operation:
        model = _model_in(operation["requestBody"], models) or {}
        example = (model.get("examples") or [{}])[0]
        rows = min(_shown(example).count("\n") + 2, _MOST_ROWS)
        fields.append(
            f'<label>JSON body<textarea name="body" rows="{rows}" spellcheck="false" '
            f'autocapitalize="none">{escape(_shown(example))}</textarea></label>'
        )
    return (
        f'<form class="try" data-method="{method.upper()}" data-path="{escape(path)}" hidden>'
        f"<h3>Try it</h3>{''.join(fields)}"
        f'<button type="submit" class="strong" aria-label="Send {escape(name)}">Send</button>'
        '<p class="outcome" role="status"></p><pre class="answer" tabindex="0" hidden></pre></form>'
    )
