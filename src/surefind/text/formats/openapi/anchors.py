"""The anchors that Redoc and Swagger UI give to the parts of an API reference."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Protocol

_NOT_IN_SLUG = re.compile(r"[^\w\s$*_+~.()'\"!\-:@]+", re.ASCII)
_BLANKS = re.compile(r"[-\s]+")
_SIGNS = {"&": "and", "$": "dollar", "%": "percent", "<": "less", ">": "greater", "|": "or"}
_SIGNS |= {"ß": "ss", "æ": "ae", "ø": "o", "œ": "oe", "©": "(c)", "®": "(r)"}
_NOT_WORD = re.compile(r"[^\w]", re.ASCII)


class ApiAnchors(Protocol):
    def section(self, titles: Sequence[str]) -> str:
        """A heading of the introduction, below the headings above it."""
        ...

    def tag(self, name: str) -> str: ...

    def operation(self, tag: str, operation_id: str, method: str, path: str) -> str: ...

    def schema(self, name: str, tags: Sequence[str]) -> str:
        """Empty if the tool gives no anchor to the schema."""
        ...


class RedocAnchors:
    def section(self, titles: Sequence[str]) -> str:
        return "/".join(("section", *map(_slug, titles)))

    def tag(self, name: str) -> str:
        return f"tag/{_slug(name)}"

    def operation(self, tag: str, operation_id: str, method: str, path: str) -> str:
        above = f"{self.tag(tag)}/" if tag else ""
        if operation_id:
            return f"{above}operation/{operation_id}"
        pointer = path.replace("~", "~0").replace("/", "~1")
        return f"{above.rstrip('/')}/paths/{pointer}/{method}"

    def schema(self, name: str, tags: Sequence[str]) -> str:
        """Redoc shows the schemas that name a tag."""
        return f"schema/{_slug(name)}" if tags else ""


class SwaggerAnchors:
    def section(self, titles: Sequence[str]) -> str:  # noqa: ARG002 - it has no anchors for them
        return ""

    def tag(self, name: str) -> str:
        return f"/{name.strip()}"

    def operation(self, tag: str, operation_id: str, method: str, path: str) -> str:
        own = operation_id.strip() or f"{method}{_NOT_WORD.sub('_', path)}"
        return f"/{tag.strip() or 'default'}/{own}"

    def schema(self, name: str, tags: Sequence[str]) -> str:  # noqa: ARG002 - opened by no link
        return ""


ANCHORS: dict[str, ApiAnchors] = {"redoc": RedocAnchors(), "swagger-ui": SwaggerAnchors()}


def _slug(name: str) -> str:
    """As by Redoc's slugify: case stays, accents go, blanks become dashes."""
    plain = "".join(_SIGNS.get(sign, sign) for sign in name)
    plain = unicodedata.normalize("NFKD", plain)
    plain = "".join(sign for sign in plain if not unicodedata.combining(sign))
    slug = _BLANKS.sub("-", _NOT_IN_SLUG.sub("", plain).strip())
    return slug or _BLANKS.sub("-", name.lower().replace("&", "-and-")).strip("-")
