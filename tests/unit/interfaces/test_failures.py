"""Every error has an exit code, a status and a name, and the tree is drawn as it is."""

import inspect

from surefind import errors
from surefind.errors import SurefindError
from surefind.interfaces.failures import failure_of


def kinds() -> list[tuple[str, type[SurefindError]]]:
    return [
        (name, kind)
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, SurefindError)
    ]


def test_every_error_is_drawn_on_top_with_its_exit_code() -> None:
    drawing = inspect.getdoc(errors) or ""
    for name, kind in kinds():
        lines = [line for line in drawing.splitlines() if name in line.split("(")[0].split()]
        assert lines, f"{name} is not drawn"
        if kind is not SurefindError:
            assert f"exit {failure_of(kind('x')).exit_code}" in lines[0]


def test_each_drawn_status_is_the_one_that_is_sent() -> None:
    drawing = inspect.getdoc(errors) or ""
    for name, kind in kinds():
        for line in drawing.splitlines():
            if f" {name} " in line and "HTTP" in line:
                assert f"HTTP {failure_of(kind('x')).http_status}" in line


def test_an_error_without_a_place_is_an_internal_one() -> None:
    assert failure_of(SurefindError("x")).name == "internal_error"
