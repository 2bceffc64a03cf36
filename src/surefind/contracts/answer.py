"""Field types shared by the responses of the published shapes."""

from typing import Annotated

from pydantic import AfterValidator, Field

from surefind.contracts import rules

NotBlank = Annotated[str, Field(min_length=1, pattern=r"\S")]
Url = Annotated[
    str,
    AfterValidator(lambda value: rules.url("url", value)),
    Field(json_schema_extra={"format": "uri"}),
]


def _is_empty(values: list[str]) -> bool:
    return not values


Assumed = Annotated[
    list[str],
    Field(
        exclude_if=_is_empty,
        description="Fields that hold a default value because the connected collection does not "
        "have them; absent if there are none",
    ),
]
Flaws = Annotated[
    list[str],
    Field(min_length=1, description="What is missing or unreadable in the stored passage"),
]
"""For shapes that relax a rule of the contract: the violation must be named."""
