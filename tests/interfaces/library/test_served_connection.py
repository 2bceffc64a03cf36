"""The connection of a client: keys, TLS, redirects, retries, timeouts and versions."""

import os
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import pytest

import surefind
from support.commands import serving
from support.commands import surefind as run
from support.website.certificates import certificate

Answer = tuple[int, dict[str, str], bytes]
TYPED = {"Content-Type": "application/vnd.surefind.v1+json", "Surefind-Version": "9.8.7"}
JSON = {"Content-Type": "application/json"}
FOUND: Answer = (200, TYPED, b"[]")


def refused(status: int, name: str, message: str = "why", **headers: str) -> Answer:
    body = f'{{"error": "{name}", "message": "{message}"}}'
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return status, {**JSON, **named}, body.encode()


class StubServer(ThreadingHTTPServer):
    """Answers in turn, and the last answer from then on; None hangs up."""

    daemon_threads = True
    answers: list[Answer | None]
    seen: list[dict[str, str]]
    hang: threading.Event
    closing: threading.Event

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up is expected."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        server = cast("StubServer", self.server)
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        server.seen.append({**dict(self.headers), "path": self.path})
        answers = server.answers
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer is None:
            self.close_connection = True
            return
        if server.hang.is_set():
            server.closing.wait(30)
        status, headers, body = answer
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 - the name that the standard library calls

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
        pass


@contextmanager
def stub(*answers: Answer | None, tls: Path | None = None) -> Iterator[StubServer]:
    server = StubServer(("127.0.0.1", 0), Handler)
    server.answers, server.seen = list(answers), []
    server.hang, server.closing = threading.Event(), threading.Event()
    if tls is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


# --- options --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "is not the address of a server"),
        ("localhost:8000", "is not the address of a server"),
        ("ftp://example.com", "such as https://search.example.com"),
        ("https://", "is not the address"),
        ("http://example.com:99999", "Port out of range"),
        ("https://user:secret@example.com", "pass the API key as key="),
        ("https://example.com?key=secret", "has a query or fragment"),
        (None, "must be a string"),
    ],
)
def test_an_invalid_address_is_refused(url: Any, reason: str) -> None:
    with pytest.raises(surefind.InputError, match=reason) as raised, surefind.connect_to(url):
        pass
    assert "user:secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"key": ""}, "key is empty"),
        ({"key": "a\r\nHost: evil"}, "invalid characters"),
        ({"timeout_s": 0}, "timeout_s must be a positive number"),
        ({"timeout_s": float("inf")}, "timeout_s"),
        ({"retries": 11}, "from 0 to 10"),
        ({"retries": True}, "retries"),
        ({"collection": ""}, "collection: it cannot be empty"),
        ({"collection": 3}, "collection must be a name"),
        ({"ca_file": "none.pem"}, "can't read certificates from 'none.pem'"),
    ],
)
def test_an_invalid_option_is_named(options: Any, reason: str) -> None:
    with (
        pytest.raises(surefind.InputError, match=reason),
        surefind.connect_to("https://example.com", **options),
    ):
        pass


def test_an_unknown_option_is_a_type_error() -> None:
    wrong: Any = {"tiemout_s": 3}
    with (
        pytest.raises(TypeError, match="unknown option: tiemout_s"),
        surefind.connect_to("https://example.com", **wrong),
    ):
        pass


def test_a_key_in_clear_over_the_network_is_a_warning() -> None:
    with (
        pytest.warns(UserWarning, match=r"sent unencrypted to http://docs\.example\.com; use http"),
        surefind.connect_to("http://docs.example.com/", key="secret"),
    ):
        pass


def test_a_client_in_a_forked_child_is_refused_and_the_parent_keeps_its_own() -> None:
    with stub(FOUND) as server, surefind.connect_to(server.address) as docs:
        if (child := os.fork()) == 0:
            try:
                docs.collections()
            except surefind.InputError:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert docs.collections() == []


# --- keys and TLS ---------------------------------------------------------------------------------


def test_the_server_checks_the_key(home: Path) -> None:
    key = run("keys", "create", "--name", "app", cwd=home).stdout.strip()
    with serving(cwd=home) as (address, _):
        with surefind.connect_to(address, key=key) as docs:
            assert docs.search("vinegar", mode="lexical")[0].title == "Cleaning"
        for wrong in (None, "surefind_wrong"):
            with (
                pytest.raises(surefind.StoreRefused, match=r"\(401\).*API key"),
                surefind.connect_to(address, key=wrong) as docs,
            ):
                docs.search("vinegar")


def test_a_certificate_must_be_trusted(tmp_path: Path) -> None:
    own = certificate(tmp_path)
    with stub(FOUND, tls=own) as server:
        address = server.address.replace("http:", "https:")
        with surefind.connect_to(address, key="secret", ca_file=own) as docs:
            assert docs.collections() == []
            assert server.seen[0]["Authorization"] == "Bearer secret"
        server.seen.clear()
        with (
            pytest.raises(surefind.StoreUnreachable, match="certificate"),
            surefind.connect_to(address, key="secret", retries=0) as docs,
        ):
            docs.collections()
        assert server.seen == []


def test_a_redirect_does_not_get_the_key() -> None:
    with stub(FOUND) as target:
        moved: Answer = (307, {"Location": f"{target.address}/collections"}, b"")
        with stub(moved) as server, surefind.connect_to(server.address, key="secret") as docs:
            with pytest.raises(surefind.InputError, match=r"redirects to http.*not followed"):
                docs.collections()
            assert len(server.seen) == 1
        assert target.seen == []


# --- failures -------------------------------------------------------------------------------------


def raised_by(*answers: Answer | None, **options: Any) -> tuple[Exception, int]:
    """The error of a call, and the number of requests."""
    with stub(*answers) as server, surefind.connect_to(server.address, **options) as docs:
        with pytest.raises(surefind.SurefindError) as raised:
            docs.collections()
        return raised.value, len(server.seen)


ERRORS: list[tuple[Answer, type[Exception], int, str]] = [
    (refused(400, "validation_error"), surefind.InputError, 1, "^why$"),
    (
        refused(404, "not_found", Surefind_Error="UnknownChunk"),
        surefind.UnknownChunk,
        1,
        "^why$",
    ),
    (refused(404, "not_found"), surefind.VersionMismatch, 1, "has no /collections; upgrade"),
    (refused(409, "guard_stopped", Surefind_Error="GuardStopped"), surefind.GuardStopped, 1, "why"),
    (refused(401, "unauthorized"), surefind.StoreRefused, 1, r"\(401\): why"),
    (refused(403, "forbidden"), surefind.StoreRefused, 1, r"\(403\): why"),
    (
        refused(502, "upstream_error", Surefind_Error="EmbeddingError"),
        surefind.EmbeddingError,
        3,
        "why",
    ),
    (refused(503, "service_unavailable", Surefind_Error="StoreBusy"), surefind.StoreBusy, 3, "why"),
    (refused(503, "service_unavailable", Retry_After="0"), surefind.Overloaded, 3, "is busy: why"),
    (refused(429, "rate_limited", Retry_After="60"), surefind.Overloaded, 1, "is busy: why"),
    (refused(500, "internal_error"), surefind.StoreUnreachable, 3, r"failed \(500\): why"),
    (refused(503, "x", Surefind_Error="FromTheFuture"), surefind.Overloaded, 3, "why"),
    (refused(400, "x", Surefind_Error="os"), surefind.InputError, 1, "why"),
    (
        (502, {"Content-Type": "text/html"}, b"<h1>Bad\ngateway"),
        surefind.StoreUnreachable,
        3,
        "Bad g",
    ),
    ((503, {}, b""), surefind.StoreUnreachable, 3, "Service Unavailable"),
    ((404, {}, b"[1]"), surefind.StoreUnreachable, 1, r"failed \(404\)"),
    ((200, {"Content-Type": "text/html"}, b"<form>"), surefind.StoreUnreachable, 1, "login page"),
    ((204, {}, b""), surefind.StoreUnreachable, 1, r"\(204\)"),
]


@pytest.mark.parametrize(("answer", "kind", "requests", "message"), ERRORS)
def test_an_error_of_the_server_is_that_of_the_library(
    answer: Answer, kind: type[Exception], requests: int, message: str
) -> None:
    error, sent = raised_by(answer)
    assert type(error) is kind
    assert sent == requests
    with pytest.raises(kind, match=message):
        raise error


def test_the_time_to_wait_comes_with_the_error() -> None:
    error, _ = raised_by(refused(429, "rate_limited", Retry_After="60"))
    assert isinstance(error, surefind.Overloaded)
    assert error.retry_after_s == 60


@pytest.mark.parametrize("first", [None, refused(503, "x", Retry_After="0"), (502, {}, b"")])
def test_a_failure_that_passes_is_not_noticed(first: Answer | None) -> None:
    with stub(first, FOUND) as server, surefind.connect_to(server.address) as docs:
        assert docs.collections() == []
        assert len(server.seen) == 2


def test_retries_can_be_turned_off() -> None:
    assert raised_by((503, {}, b""), retries=0)[1] == 1


def test_a_change_is_sent_once() -> None:
    with stub(None) as server, surefind.connect_to(server.address) as docs:
        with pytest.raises(surefind.StoreUnreachable, match="can't reach the surefind server at"):
            docs.rollback()
        assert len(server.seen) == 1


def test_a_server_that_is_not_there_is_named() -> None:
    with stub(FOUND) as server:
        address = server.address
    with (
        pytest.raises(surefind.StoreUnreachable, match=f"server at {address}: .*check the address"),
        surefind.connect_to(address, retries=1) as docs,
    ):
        docs.search("tea")


def test_a_server_that_does_not_answer_is_given_up() -> None:
    with stub(FOUND) as server:
        server.hang.set()
        with (
            pytest.raises(surefind.StoreUnreachable, match=r"no answer within 0\.2 s"),
            surefind.connect_to(server.address, timeout_s=0.2, retries=1) as docs,
        ):
            docs.collections()
        assert len(server.seen) == 2


# --- versions -------------------------------------------------------------------------------------


CHANGED: list[tuple[Answer, str]] = [
    ((200, TYPED, b'[{"name": "docs"}]'), "runs surefind 9.8.7; this is surefind .* same version"),
    ((200, TYPED, b"[{"), "can't read the answer"),
    ((200, JSON, b'{"collections": []}'), "does not answer typed clients; upgrade it"),
    (refused(406, "not_acceptable", "this server runs surefind 9"), "runs surefind 9"),
]


@pytest.mark.parametrize(("answer", "message"), CHANGED)
def test_a_server_of_another_version_is_named(answer: Answer, message: str) -> None:
    error, sent = raised_by(answer)
    assert isinstance(error, surefind.VersionMismatch)
    assert sent == 1
    with pytest.raises(surefind.VersionMismatch, match=message):
        raise error


def test_a_field_of_a_newer_server_is_ignored() -> None:
    body = b'[{"name": "docs", "served": true, "generation": 1, "colour": "red"}]'
    with stub((200, TYPED, body)) as server, surefind.connect_to(server.address) as docs:
        assert docs.collections() == [surefind.CollectionSummary("docs", served=True, generation=1)]


def test_a_server_names_its_version_to_a_newer_client(contracts: Any) -> None:
    accept = {"Accept": "application/vnd.surefind.v2+json"}
    answer = contracts.get("/collections", headers=accept)
    assert (answer.status_code, answer.json()["error"]) == (406, "not_acceptable")
    assert answer.headers["surefind-version"] == surefind.__version__
    assert "the same version" in answer.json()["message"]


CALLS: list[Callable[[surefind.Surefind], object]] = [
    lambda docs: docs.search("tea", where=["tokens>1", "tokens>5"]),
]


@pytest.mark.parametrize("call", CALLS)
def test_conditions_that_a_server_does_not_take_are_named(
    call: Callable[[surefind.Surefind], object],
) -> None:
    with stub(FOUND) as server, surefind.connect_to(server.address) as docs:
        with pytest.raises(
            surefind.InputError, match=r"tokens has two conditions of the same kind"
        ):
            call(docs)
        assert server.seen == []
