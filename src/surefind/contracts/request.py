"""How every request of a published shape is read: strictly, and no field but the known ones."""

from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from surefind.errors import InputError
from surefind.model import Mode


def _readable(value: str) -> str:
    if not value.strip():
        raise ValueError("it cannot be empty")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("it holds half of a character (a lone surrogate)") from None
    return value


Words = Annotated[str, AfterValidator(_readable)]
"""Each contract says how many characters at least and at most."""
Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
SearchMode = Annotated[
    Mode, Field(strict=False, description="How to search: dense, hybrid or lexical")
]


class StrictRequest(BaseModel):
    """`"5"` is not 5, and what the contract does not know is an error, never silence."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @classmethod
    def read(cls, **values: Any) -> Self:
        """For callers other than HTTP: InputError, which begins with the field at fault."""
        try:
            return cls(**values)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise InputError(explain(first["loc"], first["msg"])) from error


def explain(place: tuple[int | str, ...], message: str) -> str:
    field = ".".join(str(part) for part in place if part != "body")
    return f"{field or 'body'}: {message.removeprefix('Value error, ')}"
