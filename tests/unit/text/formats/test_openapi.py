import json
from typing import Any

import pytest
import yaml

from surefind.errors import InputError
from surefind.model import FormatOptions
from surefind.text.formats.openapi.detection import is_openapi
from surefind.text.formats.page import ParsedPage
from surefind.text.formats.registry import parse

SWAGGER = FormatOptions(openapi_anchors="swagger-ui")
API = """\
openapi: 3.1.0
info:
  title: Pet Store
  version: 1.20
  description: |
    The store of pets.

    # Getting started

    Ask for a key.

    ## Limits

    100 requests a minute.

    ```
    an open fence
servers:
  - url: https://api.example.com/v1
    description: Production
tags:
  - {name: Pets & owners, description: "Everything.\\n\\n# About\\n\\nMore."}
  - {name: Unused}
paths:
  /pets/{petId}:
    description: One pet.
    parameters: [{$ref: "#/components/parameters/Trace"}]
    get:
      tags: [Pets & owners]
      operationId: getPet
      summary: Show a pet
      deprecated: true
      description: |
        Returns the pet.

        ## Errors

        404 if it is gone.
      parameters:
        - {name: petId, in: path, required: true, description: The id, schema: {type: integer}}
        - {name: filter, in: query, content: {application/json: {schema: {type: object}}}}
        - name: sort
          in: query
          schema: {type: string, enum: [id, name], default: id}
          example: name
      responses:
        200:
          description: The pet
          headers: {X-Rate: {description: Left calls, schema: {type: integer}}}
          content:
            application/json: {schema: {$ref: "#/components/schemas/Pet"}, example: {id: 1}}
            text/xml: {schema: {$ref: "#/components/schemas/Pet"}}
        404: {$ref: "#/components/responses/Missing"}
        500: {$ref: "errors.yaml#/Error"}
        503: {$ref: "https://example.com/error.json"}
      security: [{key: []}]
    delete:
      responses: {204: {description: Gone}}
  /pets:
    post:
      summary: Create a pet
      requestBody:
        required: true
        description: The new pet.
        content:
          application/json:
            schema:
              type: object
              required: [name]
              properties:
                name: {type: string, description: "Its name,\\nin full", maxLength: 20}
                owner: {type: object, properties: {mail: {type: string, format: email}}}
                tags: {type: array, items: {type: object, properties: {label: {type: string}}}}
              additionalProperties: {type: number}
            examples:
              small: {summary: A small one, value: {name: Rex}}
              shared: {$ref: "#/components/examples/Big"}
      callbacks:
        created: {"{$request.body#/url}": {post: {summary: Tells you., requestBody: {content: {}}}}}
      responses: {}
webhooks:
  petSold: {post: {operationId: petSold, tags: [Pets & owners]}}
components:
  parameters:
    Trace: {name: X-Trace, in: header, schema: {type: string}, description: A trace id}
  responses:
    Missing: {description: There is no such pet}
  examples:
    Big: {value: "plain text"}
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key, description: The key of your account}
  schemas:
    Pet:
      title: A pet
      description: An animal.
      type: object
      x-tags: [Pets & owners]
      required: [id]
      properties:
        id: {type: integer, format: int64, readOnly: true}
        kind: {type: [string, "null"], enum: [dog, cat, null]}
        friends: {type: array, items: {$ref: "#/components/schemas/Pet"}}
      examples: [{id: 7}]
    Either: {oneOf: [{$ref: "#/components/schemas/Pet"}, {properties: {nope: {nullable: true}}}]}
    Anything: {}
"""


def read(
    api: str | dict[str, Any], suffix: str = ".yaml", options: FormatOptions | None = None
) -> ParsedPage:
    text = api if isinstance(api, str) else json.dumps(api)
    return parse(text.encode(), suffix, options=options)


def anchors(page: ParsedPage) -> dict[str, str]:
    return {heading.title: heading.anchor for heading in page.structure.headings}


def section(page: ParsedPage, title: str) -> str:
    """The text from a heading to the next."""
    headings = page.structure.headings
    at = next(number for number, heading in enumerate(headings) if heading.title == title)
    end = headings[at + 1].start if at + 1 < len(headings) else len(page.text)
    return page.text[headings[at].start : end].strip()


def test_the_anchors_of_redoc() -> None:
    assert anchors(read(API)) == {
        "Pet Store": "",
        "Getting started": "section/Getting-started",
        "Limits": "section/Getting-started/Limits",
        "Authentication": "section/Authentication",
        "Pets & owners": "tag/Pets-and-owners",
        "About": "tag/Pets-and-owners",
        "Show a pet": "tag/Pets-and-owners/operation/getPet",
        "Errors": "tag/Pets-and-owners/operation/getPet",
        "petSold": "tag/Pets-and-owners/operation/petSold",
        "Unused": "tag/Unused",
        "DELETE /pets/{petId}": "/paths/~1pets~1{petId}/delete",
        "Create a pet": "/paths/~1pets/post",
        "Schemas": "",
        "Pet": "schema/Pet",
        "Either": "",
        "Anything": "",
    }


def test_the_anchors_of_swagger_ui() -> None:
    found = anchors(read(API, options=SWAGGER))
    assert found["Limits"] == ""
    assert found["Pets & owners"] == "/Pets & owners"
    assert found["Show a pet"] == "/Pets & owners/getPet"
    assert found["Create a pet"] == "/default/post_pets"
    assert found["DELETE /pets/{petId}"] == "/default/delete_pets__petId_"
    assert found["Pet"] == ""


def test_an_operation_is_one_section_with_all_its_facts() -> None:
    page = read(API)
    assert section(page, "Show a pet").split("\n\n", 3)[1:3] == [
        "`GET /pets/{petId}` (deprecated), operation `getPet`",
        "One pet.",
    ]
    assert section(page, "Errors").split("\n\n", 2)[2] == (
        "Parameters:\n\n"
        "- `X-Trace` in `header` (string): A trace id\n"
        "- `petId` in `path` (integer; required): The id\n"
        "- `filter` in `query` (object)\n"
        "- `sort` in `query` (string; default id; one of `id`, `name`)\n\n"
        "Example of `sort`:\n\n```\nname\n```\n\n"
        "Response `200`: The pet\n\n"
        "- `X-Rate` (integer): Left calls\n\n"
        '`application/json`: `Pet`\n\n```json\n{\n  "id": 1\n}\n```\n\n'
        "`text/xml`: `Pet`\n\n"
        "Response `404`: There is no such pet\n\nResponse `500`\n\nResponse `503`\n\n"
        "Security: key"
    )


def test_bodies_examples_and_callbacks() -> None:
    text = section(read(API), "Create a pet")
    assert (
        "Request body (required):\n\nThe new pet.\n\n`application/json`: object\n\n"
        "- `name` (string; required; maxLength 20): Its name, in full\n"
        "- `owner` (object)\n  - `mail` (string; format email)\n"
        "- `tags` (array of object)\n  - `label` (string)\n"
        "- `*` (number)\n\n"
        'A small one:\n\n```json\n{\n  "name": "Rex"\n}\n```\n\n'
        "shared:\n\n```\nplain text\n```"
    ) in text
    assert "Callback `created`: `POST {$request.body#/url}`: Tells you." in text


def test_schemas() -> None:
    page = read(API)
    assert section(page, "Pet") == (
        "### Pet\n\nA pet\n\nAn animal.\n\nType: object\n\n"
        "- `id` (integer; required; read-only; format int64)\n"
        "- `kind` (string or null; one of `dog`, `cat`, `null`)\n"
        '- `friends` (array of `Pet`)\n\n```json\n{\n  "id": 7\n}\n```'
    )
    assert "Type: one of `Pet`, object\n\n- `nope` (any; nullable)" in section(page, "Either")
    assert section(page, "Anything") == "### Anything\n\nType: any"
    assert page.front_matter == {"api_version": "1.2"}
    assert page.title == "Pet Store"
    assert "- `key` (apiKey, header, X-Key): The key of your account" in page.text
    assert "- https://api.example.com/v1: Production" in page.text


def test_references_to_other_files_are_named_and_never_opened() -> None:
    assert read(API).warnings == (
        "references to other files are not followed (2: errors.yaml#/Error, "
        "https://example.com/error.json); bundle the document into one file",
    )
    page = read(
        {
            "openapi": "3.0.3",
            "paths": {
                "/a": {"get": {"requestBody": {"$ref": "#/gone"}, "parameters": 1}},
                "/b": {"$ref": "#/paths/~1a"},
                "/c": {"$ref": "#/tags/0"},
                "/d": {"$ref": "#/tags/7"},
            },
            "tags": [{"get": {"summary": "Odd"}}],
            "components": {"schemas": {"A": {"properties": {"b": {"$ref": "./b.yaml"}}}}},
        },
        ".json",
    )
    assert page.warnings == (
        "references to other files are not followed (1: ./b.yaml); bundle the document into one "
        "file",
        "references point to missing parts (2: #/tags/7, #/gone)",
    )
    assert "- `b` (`b`)" in page.text
    assert [h.title for h in page.structure.headings if h.level == 3] == [
        *("GET /a", "GET /b", "Odd", "A"),
    ]


def test_circular_references_end() -> None:
    page = read(
        {
            "openapi": "3.0.3",
            "paths": {"/a": {"$ref": "#/paths/~1b"}, "/b": {"$ref": "#/paths/~1a"}},
            "components": {
                "schemas": {"A": {"allOf": [{"$ref": "#/components/schemas/A"}]}},
                "examples": {"E": {"$ref": "#/components/examples/E"}},
            },
        },
        ".json",
    )
    assert "Type: all of `A`" in page.text


def test_json_and_yaml_give_the_same_page() -> None:
    loaded = yaml.safe_load(API)
    loaded["info"]["version"] = "1.2"
    again = read(json.dumps(loaded), ".json")
    assert again.text == read(API).text
    assert anchors(again) == anchors(read(API))


def test_aliases_merge_keys_and_scalars_of_yaml() -> None:
    page = read(
        "openapi: 3.0.0\n"
        "x-base: &base {type: string, maxLength: 5}\n"
        "x-more: &more [1]\n"
        "components:\n  schemas:\n"
        "    A: {<<: *base, maxLength: 9, default: 0x1F}\n"
        "    B: {<<: [*base, *more], default: ~, minimum: -1.5e3, const: 007}\n"
        "    C: *base\n    yes: {type: boolean, default: True}\n    ? [1]\n    : {}\n"
    )
    for text in (
        *("Type: string; default 0x1F; maxLength 9", "Type: string; maxLength 5"),
        *("default null; const 007; minimum -1500.0; maxLength 5", "### yes", "default true"),
    ):
        assert text in page.text


@pytest.mark.parametrize(
    ("content", "suffix", "expected"),
    [
        (b"openapi: 3.0.0\n", ".yaml", True),
        (b"\xef\xbb\xbf'openapi': '3.1.0'\n", ".yml", True),
        (b'# API\ninfo: {}\nopenapi: "3.1.0"\n', ".yaml", True),
        (b"  openapi: 3.0.0\n", ".yaml", False),
        (b"openapi: 2.0\n", ".yaml", False),
        (b'{"openapi": "3.0.0"}', ".json", True),
        (b'{"components": {"a": "}"}, "openapi" : "3.1.0"}', ".json", True),
        (b'{"openapi": "3.0.0"}', ".yaml", True),
        (b'{"dependencies": {"openapi": "3.0.0"}}', ".json", False),
        (b'{"a": "openapi", "b": ["openapi", "3.0"]}', ".json", False),
        (b'{"name": "site"}', ".json", False),
    ],
)
def test_other_data_is_distinguished(content: bytes, suffix: str, *, expected: bool) -> None:
    assert is_openapi(content, suffix) is expected


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"swagger: '2.0'", "has Swagger 2.0; convert it"),
        (b"info: {}", "has no OpenAPI version"),
        (b"- openapi", "it is not a mapping"),
        (b"", "it is not a mapping"),
        (b"openapi: 3.0.0\ninfo: [", "its YAML is invalid in line"),
        (b"openapi: 3.0.0\n\tinfo: a", "its YAML is invalid in line 2"),
        (b'{"openapi": "3.0.0", "info": {"title": "a"', "its JSON is invalid in line 1"),
        (b"openapi: 3.0.0\na: " + b"[" * 5_000, "nested too deeply"),
        (b"openapi: 3.0.0\na: " + b"- " * 5_000, "nested too deeply|invalid"),
        (b'{"openapi": "3.0.0", "a": ' + b"[" * 200_000, "nested too deeply"),
        (b"\x00\x01", "binary"),
    ],
)
def test_broken_documents_are_refused_with_the_reason(content: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        parse(content, ".yaml")


def test_bombs_are_refused() -> None:
    laughs = "openapi: 3.0.0\na0: &a0 [x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
    )
    with pytest.raises(InputError, match="too many values"):
        read(laughs)
    big = {"name": "a", "in": "query", "description": "x" * 100_000}
    paths = {f"/{n}": {"get": {"parameters": [{"$ref": "#/components/p"}]}} for n in range(400)}
    with pytest.raises(InputError, match="it expands to more than 32000000 characters"):
        read({"openapi": "3.0.0", "paths": paths, "components": {"p": big}}, ".json")


def nested(levels: int) -> dict[str, Any]:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        deep = {"properties": {"a": deep}}
    return {"openapi": "3.0.0", "components": {"schemas": {"A": deep}}}


def test_schemas_nested_in_each_other_are_read_up_to_a_limit() -> None:
    assert read(nested(60), ".json").text.count("`a`") == 60
    text = '{"openapi": "3.0.0", "components": {"schemas": {"A": ' + '{"properties": {"a": ' * 900
    with pytest.raises(InputError, match="nested too deeply"):
        read(text + "{}" + "}}" * 900 + "}}}", ".json")


def test_long_examples_are_cut_and_named() -> None:
    example = {"a": "x" * 30_000}
    page = read({"openapi": "3.0.0", "components": {"schemas": {"A": {"example": example}}}})
    assert page.warnings == ("long examples are cut: 1",)
    assert "x" * 19_000 in page.text
