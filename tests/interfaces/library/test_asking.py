"""Being asked at a terminal: yes, no, Enter, Ctrl-D and Ctrl-C."""

import sys

import pytest
import typer

from support.terminal import typed
from surefind.interfaces.cli.console import INTERRUPTED, confirm

ANSWERS = [
    (b"y\n", True, True),
    (b"YES\n", False, True),
    (b" n \n", True, False),
    (b"No\n", True, False),
    (b"\n", True, True),
    (b"\n", False, False),
    (b"\x04", True, False),
    (b"perhaps\ny\n", False, True),
]


@pytest.mark.parametrize(("keys", "default", "wanted"), ANSWERS)
def test_what_is_typed_is_understood(
    keys: bytes,
    *,
    default: bool,
    wanted: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with typed(keys) as side, open(side, encoding="utf-8", closefd=False) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert confirm("Shall I?", default=default) is wanted
    out, err = capsys.readouterr()
    assert out == "", "a result that goes into a pipe has no question in it"
    assert err.startswith(f"Shall I? [{'Y/n' if default else 'y/N'}]: ")
    assert ("answer y or n" in err) == (b"perhaps" in keys)


def test_ctrl_c_ends_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupted:
        def readline(self) -> str:
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", Interrupted())
    with pytest.raises(typer.Exit) as ended:
        confirm("Shall I?", default=True)
    assert ended.value.exit_code == INTERRUPTED
    assert capsys.readouterr().err.endswith("\nsurefind: stopped; nothing was changed\n")
