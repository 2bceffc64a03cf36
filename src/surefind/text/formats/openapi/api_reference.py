"""Converts OpenAPI documents to Markdown: introduction, tags with their operations, schemas."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from surefind.errors import InputError
from surefind.model import FormatOptions
from surefind.text.formats.assembly import PageAssembler
from surefind.text.formats.encodings import decode
from surefind.text.formats.openapi.anchors import ANCHORS, ApiAnchors
from surefind.text.formats.openapi.loading import Data, load
from surefind.text.formats.openapi.references import LocalReferences, Node
from surefind.text.formats.openapi.schemas import SchemaWriter, listed, mapped, words
from surefind.text.formats.page import ParsedPage
from surefind.text.markdown.blocks import outline

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_AUTHENTICATION = "Authentication"


def read_openapi(content: bytes, options: FormatOptions) -> ParsedPage:
    """Convert a document of OpenAPI 3; InputError, with the reason, if it is not one."""
    text, warnings = decode(content)
    document = load(text)
    version = str(document.get("openapi", ""))
    if not version.startswith("3."):
        older = f"Swagger {document['swagger']}" if "swagger" in document else "no OpenAPI version"
        raise InputError(
            f"it is not an OpenAPI 3 document, but has {older}; convert it, or remove it"
        )
    try:
        reference = _ApiReference(document, ANCHORS[options.openapi_anchors])
        return reference.parsed(warnings)
    except RecursionError as error:
        raise InputError("its values are nested too deeply; correct it, or remove it") from error


@dataclass(frozen=True, slots=True)
class _Operation:
    method: str
    path: str
    own: Node
    shared: Node

    @property
    def operation_id(self) -> str:
        return words(self.own.get("operationId"))

    @property
    def tag(self) -> str:
        return next((tag for tag in listed(self.own.get("tags")) if isinstance(tag, str)), "")

    @property
    def title(self) -> str:
        return words(self.own.get("summary")) or self.operation_id or f"{self.call}"

    @property
    def call(self) -> str:
        return f"{self.method.upper()} {self.path}"


class _ApiReference:
    def __init__(self, document: dict[str, Data], anchors: ApiAnchors) -> None:
        self._document = document
        self._components = mapped(document.get("components"))
        self._anchors = anchors
        self._references = LocalReferences(document)
        self._schemas = SchemaWriter(self._references)
        self._page = PageAssembler()

    def parsed(self, warnings: tuple[str, ...]) -> ParsedPage:
        info = mapped(self._document.get("info"))
        title = words(info.get("title"))
        self._introduction(title, info)
        operations = [*self._operations("paths"), *self._operations("webhooks")]
        tags = {words(mapped(tag).get("name")): mapped(tag) for tag in self._tags()}
        for operation in operations:
            tags.setdefault(operation.tag, {})
        by_tag: dict[str, list[_Operation]] = {name: [] for name in tags}
        for operation in operations:
            by_tag[operation.tag].append(operation)
        for name, tag in tags.items():
            self._tag(name, tag, by_tag[name])
        self._all_schemas()
        warnings += self._references.warnings()
        if self._schemas.cut_examples:
            warnings += (f"long examples are cut: {self._schemas.cut_examples}",)
        facts: dict[str, object] = {}
        if version := info.get("version"):
            facts["api_version"] = str(version)
        return self._page.parsed(facts, title, warnings)

    def _tags(self) -> Sequence[Data]:
        return [tag for tag in listed(self._document.get("tags")) if mapped(tag).get("name")]

    def _operations(self, place: str) -> Iterator[_Operation]:
        for path, item in mapped(self._document.get(place)).items():
            shared = self._references.resolve(item)
            for method in _METHODS:
                own = shared.get(method)
                if isinstance(own, dict):
                    yield _Operation(method, path, own, shared)

    # --- introduction, tags and schemas ---

    def _introduction(self, title: str, info: Node) -> None:
        if title:
            self._page.heading(1, title, "")
        self._page.block(words(info.get("summary")))
        description = words(info.get("description"))
        self._page.block(description, level=1, anchors=self._section_anchors(description))
        servers = [mapped(server) for server in listed(self._document.get("servers"))]
        items = [_with_words(f"- {s.get('url')}", words(s.get("description"))) for s in servers]
        self._page.block("\n".join(["Servers:", "", *items]) if items else "")
        schemes = mapped(self._components.get("securitySchemes"))
        if schemes:
            self._page.heading(2, _AUTHENTICATION, self._anchors.section([_AUTHENTICATION]))
            for name, scheme in schemes.items():
                self._page.block(_security(name, self._references.resolve(scheme)))

    def _section_anchors(self, description: str) -> dict[str, str]:
        """Redoc gives anchors to the first two levels of headings."""
        found, top = dict[str, str](), list[str]()
        for heading in outline(description).headings:
            if heading.level == 1:
                top = [heading.title]
            if heading.level <= 2:
                path = top if heading.level == 1 else [*top, heading.title]
                found.setdefault(heading.title, self._anchors.section(path))
        return found

    def _tag(self, name: str, tag: Node, operations: Sequence[_Operation]) -> None:
        anchor = self._anchors.tag(name) if name else ""
        if name:
            self._page.heading(2, words(tag.get("x-displayName")) or name, anchor)
        self._page.block(words(tag.get("description")), anchor, 2)
        for operation in operations:
            self._operation(operation)

    def _all_schemas(self) -> None:
        schemas = mapped(self._components.get("schemas"))
        if schemas:
            self._page.heading(2, "Schemas", "")
        for name, schema in schemas.items():
            tags = [str(tag) for tag in listed(mapped(schema).get("x-tags"))]
            anchor = self._anchors.schema(name, tags)
            self._page.heading(3, name, anchor)
            self._schema(schema, anchor)

    def _schema(self, schema: Data, anchor: str) -> None:
        own = mapped(schema)
        self._page.block(words(own.get("title")))
        self._page.block(words(own.get("description")), anchor, 3)
        facts = [self._schemas.type_of(schema), *self._schemas.facts(schema)]
        self._page.block(f"Type: {'; '.join(facts)}")
        self._page.block("\n".join(self._schemas.properties(schema)))
        for example in self._schemas.examples(own):
            self._page.block(example)

    # --- operations ---

    def _operation(self, operation: _Operation) -> None:
        own = operation.own
        anchor = self._anchors.operation(
            operation.tag, operation.operation_id, operation.method, operation.path
        )
        self._page.heading(3, operation.title, anchor)
        deprecated = " (deprecated)" if own.get("deprecated") is True else ""
        named = f", operation `{operation.operation_id}`" if operation.operation_id else ""
        self._page.block(f"`{operation.call}`{deprecated}{named}")
        self._page.block(words(operation.shared.get("description")), anchor, 3)
        self._page.block(words(own.get("description")), anchor, 3)
        self._parameters(operation)
        self._body(self._references.resolve(own.get("requestBody")), anchor)
        self._responses(mapped(own.get("responses")))
        self._callbacks(mapped(own.get("callbacks")), anchor)
        schemes = [name for one in listed(own.get("security")) for name in mapped(one)]
        self._page.block(f"Security: {', '.join(map(str, schemes))}" if schemes else "")

    def _parameters(self, operation: _Operation) -> None:
        given = [
            *listed(operation.shared.get("parameters")),
            *listed(operation.own.get("parameters")),
        ]
        resolved = (self._references.resolve(one) for one in given)
        found = {(one.get("name"), one.get("in")): one for one in resolved if "name" in one}
        items, examples = [], []
        for parameter in found.values():
            schema = parameter.get("schema")
            if schema is None:
                media = next(iter(mapped(parameter.get("content")).values()), None)
                schema = mapped(media).get("schema")
            about = words(parameter.get("description"))
            place = f"{parameter.get('name')}` in `{parameter.get('in')}"
            required = parameter.get("required") is True
            items.append(self._schemas.item(place, schema, required=required, about=about))
            examples += [
                f"Example of `{parameter.get('name')}`:\n\n{example}"
                for example in self._schemas.examples(parameter)
            ]
        self._page.block("\n".join(["Parameters:", "", *items]) if items else "")
        for example in examples:
            self._page.block(example)

    def _body(self, body: Node, anchor: str) -> None:
        content = mapped(body.get("content"))
        if not body:
            return
        required = " (required)" if body.get("required") is True else ""
        self._page.block(f"Request body{required}:")
        self._page.block(words(body.get("description")), anchor, 3)
        self._content(content)

    def _content(self, content: Node) -> None:
        """Media types; a schema that follows an equal one is not repeated."""
        before: Data = None
        for name, media in content.items():
            schema = mapped(media).get("schema")
            facts = [self._schemas.type_of(schema), *self._schemas.facts(schema)]
            self._page.block(f"`{name}`: {'; '.join(facts)}")
            if schema != before:
                before = schema
                self._page.block("\n".join(self._schemas.properties(_items_of(schema))))
            for example in self._schemas.examples(mapped(media)):
                self._page.block(example)

    def _responses(self, responses: Node) -> None:
        for status, given in responses.items():
            response = self._references.resolve(given)
            about = " ".join(words(response.get("description")).split())
            self._page.block(_with_words(f"Response `{status}`", about))
            headers = [
                self._header(name, self._references.resolve(header))
                for name, header in mapped(response.get("headers")).items()
            ]
            self._page.block("\n".join(headers))
            self._content(mapped(response.get("content")))

    def _header(self, name: str, header: Node) -> str:
        about = words(header.get("description"))
        return self._schemas.item(name, header.get("schema"), required=False, about=about)

    def _callbacks(self, callbacks: Node, anchor: str) -> None:
        for name, given in callbacks.items():
            for address, item in self._references.resolve(given).items():
                for method, call in mapped(item).items():
                    if method in _METHODS and isinstance(call, dict):
                        text = words(call.get("summary")) or words(call.get("description"))
                        line = f"Callback `{name}`: `{method.upper()} {address}`"
                        self._page.block(_with_words(line, text))
                        self._body(self._references.resolve(call.get("requestBody")), anchor)


def _items_of(schema: Data) -> Data:
    return mapped(schema).get("items", schema)


def _with_words(line: str, text: str) -> str:
    return f"{line}: {' '.join(text.split())}" if text else line


def _security(name: str, scheme: Node) -> str:
    details = [str(scheme[key]) for key in ("type", "scheme", "in", "name") if key in scheme]
    return _with_words(f"- `{name}` ({', '.join(details)})", words(scheme.get("description")))
