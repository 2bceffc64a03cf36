"""The base of all request shapes: strict types, no unknown fields."""

from collections.abc import Mapping
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


_INTEGER, _NUMBER = "it must be a whole number", "it must be a number"
_BOOLEAN, _OBJECT = "it must be true or false", "it must be an object"
_PROBLEMS = {
    "missing": "it is required",
    "extra_forbidden": "unknown field",
    "string_type": "it must be a string",
    "string_too_short": "at least {min_length} characters are required",
    "string_too_long": "at most {max_length} characters are allowed",
    "int_type": _INTEGER,
    "int_parsing": _INTEGER,
    "int_from_float": _INTEGER,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": "it must be a finite number",
    "greater_than": "it must be greater than {gt}",
    "greater_than_equal": "it must be at least {ge}",
    "less_than": "it must be less than {lt}",
    "less_than_equal": "it must be at most {le}",
    "bool_type": _BOOLEAN,
    "bool_parsing": _BOOLEAN,
    "enum": "it must be {expected}",
    "literal_error": "it must be {expected}",
    "list_type": "it must be a list",
    "too_short": "at least {min_length} items are required",
    "too_long": "at most {max_length} items are allowed",
    "dict_type": _OBJECT,
    "model_type": _OBJECT,
    "model_attributes_type": _OBJECT,
}
"""By the types of pydantic's errors. The values in braces are in their `ctx`."""


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
            raise InputError(explain(error.errors(include_url=False)[0])) from error


def explain(error: Mapping[str, Any]) -> str:
    """The field and its problem, from an error of pydantic."""
    if error["type"] == PUBLISHED:
        return str(error["msg"])
    field = ".".join(str(part) for part in error["loc"] if part != "body")
    return f"{field or 'body'}: {problem_of(error)}"


def problem_of(error: Mapping[str, Any]) -> str:
    """The reason of an error of pydantic, in the words of surefind's own checks."""
    kind, details = error["type"], error.get("ctx", {})
    if kind in {"string_too_short", "too_short"} and details["min_length"] == 1:
        return "it cannot be empty"
    if kind in _PROBLEMS:
        return _PROBLEMS[kind].format(**details)
    return str(error["msg"]).removeprefix("Value error, ")
