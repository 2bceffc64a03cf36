"""The base of all request shapes: strict types, no unknown fields."""

from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)
from pydantic.config import JsonDict

from surefind.errors import InputError
from surefind.model import Mode
from surefind.model.strings import NOT_BLANK, string_problem


def _readable(value: str) -> str:
    if problem := string_problem(value, None, blank=False):
        raise ValueError(problem)
    return value


Words = Annotated[str, AfterValidator(_readable), Field(json_schema_extra={"pattern": NOT_BLANK})]
"""Each contract adds its own length limits."""


def _iso(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        raise ValueError(f"must be an ISO 8601 date and time, got {value[:40]!r}") from None


Identifier = Annotated[Words, Field(min_length=1, max_length=200)]
Moment = Annotated[datetime, BeforeValidator(_iso)]
"""A date and time in ISO 8601; naive values stay naive."""
Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
SearchMode = Annotated[
    Mode, Field(strict=False, description="How to search: dense, hybrid or lexical")
]


PUBLISHED = "published"
"""The type of errors whose message a contract publishes, to be sent word for word."""


def without_cosine(threshold: str, *, required: bool = False) -> JsonDict:
    """For JSON Schema: lexical mode accepts no threshold above 0, since it has no cosine.

    Set `required` if the default is above 0.
    """
    zero: JsonDict = {"properties": {threshold: {"const": 0}}}
    if required:
        zero["required"] = [threshold]
    lexical: JsonDict = {"properties": {"mode": {"const": "lexical"}}, "required": ["mode"]}
    return {"if": lexical, "then": zero}


def add_other_name(schema: JsonDict, field: str, other: str) -> None:
    """For JSON Schema: accept a required field under an alternative name."""
    properties, required = schema["properties"], schema["required"]
    assert isinstance(properties, dict)
    assert isinstance(required, list)
    properties[other] = properties[field]
    required.remove(field)
    schema["oneOf"] = [{"required": [field]}, {"required": [other]}]


class StrictRequest(BaseModel):
    """Rejects `"5"` for 5, and unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @classmethod
    def read(cls, **values: Any) -> Self:
        """For callers other than HTTP: raises InputError, which starts with the field's name."""
        try:
            return cls(**values)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise InputError(explain(first["loc"], first["msg"], first["type"])) from error


def explain(place: tuple[int | str, ...], message: str, kind: str) -> str:
    if kind == PUBLISHED:
        return message
    field = ".".join(str(part) for part in place if part != "body")
    return f"{field or 'body'}: {message.removeprefix('Value error, ')}"
