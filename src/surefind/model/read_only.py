"""Refuses assignments to what a search returns, properties such as `hit.text` included."""

from dataclasses import FrozenInstanceError
from typing import NoReturn, TypeVar

T = TypeVar("T")


def read_only(cls: type[T]) -> type[T]:
    """For frozen dataclasses with slots, which refuse to set a property with an obscure TypeError.

    The method that Python generates for them refers to the class as it was without slots.
    """

    def refuse(instance: object, name: str, *_value: object) -> NoReturn:
        kind = type(instance).__name__
        raise FrozenInstanceError(
            f"can't set {name!r}: a {kind} can't be changed; dataclasses.replace() makes a copy "
            "with other values"
        )

    cls.__setattr__ = cls.__delattr__ = refuse  # type: ignore[method-assign]
    return cls
