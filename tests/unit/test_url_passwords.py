"""No password of a url is shown: by no error, note, log or setting."""

import io
import json
import logging
import traceback

import pytest

from surefind.errors import InputError, StoreError, without_passwords
from surefind.interfaces.cli.console import LogLines, note
from surefind.interfaces.http.logs import JsonLines
from surefind.model import SourcePage
from surefind.settings import load
from surefind.text.documents import read_document
from surefind.text.sites.mkdocs.addresses import MkDocsSite


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://u:secret@host:80/a?b", "http://…@host:80/a?b"),
        ("http://u:sec@ret@host", "http://…@host"),
        ("http://u:s/e?c#ret@host/a", "http://…@host/a"),
        ("postgresql://u:secret@host/db, then", "postgresql://…@host/db, then"),
        ("https://secret@host", "https://…@host"),
        ('"url": "http://u:secret@host", "to": "a@b"', '"url": "http://…@host", "to": "a@b"'),
        ("http:/u:secret@host is not a folder", "http:/…@host is not a folder"),
        ("HTTP:/u:secret@host is not a folder", "HTTP:/…@host is not a folder"),
        ("ftp:/u:secret@host is not a folder", "ftp:/…@host is not a folder"),
        ("http://:secret@a http://u:secret@b", "http://…@a http://…@b"),
        ("https://host/@scope/a:b@c", "https://host/@scope/a:b@c"),
        ("http://host:8000/@scope", "http://host:8000/@scope"),
        ("bob:secret@host is not a folder", "…@host is not a folder"),
        ("source 'bob:secret@host:80/a' does", "source '…@host:80/a' does"),
        ("//bob:secret@host/a", "//…@host/a"),
        ("mailto:bob@example.com", "mailto:bob@example.com"),
        ("at 12:30 write to a@b.c", "at 12:30 write to a@b.c"),
        ("write to a@b.c: it is //not a url", "write to a@b.c: it is //not a url"),
    ],
)
def test_credentials_before_the_host_are_masked(text: str, shown: str) -> None:
    assert without_passwords(text) == shown


URL = "http://user:s3cret@localhost:1/x"


def test_errors_notes_and_logs_are_masked(capsys: pytest.CaptureFixture[str]) -> None:
    errors = [InputError(f"{URL} is refused"), StoreError(f"{URL} is unavailable")]
    assert [str(error) for error in errors] == [
        "http://…@localhost:1/x is refused",
        "http://…@localhost:1/x is unavailable",
    ]
    assert "s3cret" not in repr(errors) + "".join(traceback.format_exception(errors[0]))
    note(f"{URL} redirects elsewhere")
    assert "s3cret" not in capsys.readouterr().err
    for formatter in (LogLines(), JsonLines()):
        stream = io.StringIO()
        handler = logging.StreamHandler(stream)
        handler.setFormatter(formatter)
        failure = ValueError(URL)
        caught = (type(failure), failure, None)
        record = logging.LogRecord("x", logging.WARNING, "", 0, "%s failed", (URL,), caught)
        handler.emit(record)
        assert "localhost:1/x failed" in stream.getvalue()
        assert "s3cret" not in stream.getvalue()
        if isinstance(formatter, JsonLines):
            assert json.loads(stream.getvalue())["message"] == "http://…@localhost:1/x failed"


def test_an_address_that_every_link_begins_with_holds_no_password() -> None:
    with pytest.raises(InputError, match="base_url: it must not contain a user name or password"):
        load(base_url=URL)
    page = SourcePage("docs/a.md", "docs/a.md", b"# A\n\ntext")
    with pytest.raises(InputError, match="contains a user name or password") as refusal:
        read_document(page, MkDocsSite.from_config(f"site_url: {URL}"))
    assert "s3cret" not in str(refusal.value)


def test_settings_do_not_show_the_password_of_an_address() -> None:
    settings = load(embed_url=URL, rerank_url=URL, qdrant_url=URL, database_url=URL)
    assert settings.embed_url == URL
    assert "s3cret" not in repr(settings) + str(settings)
