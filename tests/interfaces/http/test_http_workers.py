"""Several processes that answer on one port."""

import os
import re
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from support.commands import COMMAND, Server, log_of, serving, start, surefind

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(300)]

QUESTION = {"query": "vinegar", "top_k": 1}


def ask(address: str) -> httpx2.Response:
    """On a new connection, which any worker may accept."""
    return httpx2.post(f"{address}/retrieve", json=QUESTION, timeout=60)


def eventually(holds: Callable[[], bool], what: str, limit_s: float = 90) -> None:
    deadline = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def workers_of(server: Server) -> list[int]:
    """The process ids of the children of a server that forks nothing else."""
    path = Path(f"/proc/{server.pid}/task/{server.pid}/children")
    return [int(pid) for pid in path.read_text().split()]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def sample(address: str, name: str) -> float:
    text = httpx2.get(f"{address}/metrics", timeout=60).text
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    assert found, f"{name} is not among the metrics:\n{text}"
    return float(found[1])


def wait_for_count(address: str, name: str, expected: int) -> None:
    """Wait for it: a worker counts a request just after its answer, and another one may report."""
    eventually(lambda: sample(address, name) == expected, f"{name} is not {expected}", limit_s=20)


def answering(server: Server) -> set[int]:
    """The numbers of the workers that have answered searches."""
    return {line["worker"] for line in log_of(server) if line.get("route") == "/retrieve"}


def ask_until_all_have_answered(address: str, server: Server, workers: int) -> int:
    asked = 0
    while len(answering(server)) < workers:
        assert ask(address).status_code == 200
        asked += 1
        assert asked < 3000, f"only {answering(server)} answer"
    return asked


def test_workers_answer_alike_and_are_counted_together(home: Path) -> None:
    with serving("--workers", "2", cwd=home, command=[COMMAND]) as (address, server):
        assert any("with 2 workers" in line for line in server.said)
        asked = ask_until_all_have_answered(address, server, 2)
        alone = ask(address).json()
        for _ in range(20):
            assert ask(address).json()["hits"] == alone["hits"]
        assert sample(address, "surefind_workers") == 2
        wait_for_count(address, "surefind_searches_total", asked + 21)
        total = 'surefind_requests_total{method="POST",route="/retrieve",status="200"}'
        wait_for_count(address, total, asked + 21)
        health = httpx2.get(f"{address}/health", timeout=60)
        assert health.json() == {"status": "ok", "qdrant": True, "postgres": True}
        workers = workers_of(server)
        assert len(workers) == 2
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=60) == 0
    eventually(lambda: not any(alive(pid) for pid in workers), "a worker outlives the server")


def test_a_worker_that_dies_is_replaced_and_its_counts_are_kept(home: Path) -> None:
    with serving("--workers", "2", cwd=home, command=[COMMAND]) as (address, server):
        asked = ask_until_all_have_answered(address, server, 2)
        wait_for_count(address, "surefind_searches_total", asked)
        killed, other = workers_of(server)
        os.kill(killed, signal.SIGKILL)
        eventually(lambda: not alive(killed), "the worker is still there")
        answers = Counter(ask(address).status_code for _ in range(10))
        assert answers == {200: 10}, "the other worker answers meanwhile"
        eventually(lambda: sample(address, "surefind_workers") == 2, "no worker takes its place")
        assert other in workers_of(server)
        assert killed not in workers_of(server)
        wait_for_count(address, "surefind_searches_total", asked + 10)
        messages = [line["message"] for line in log_of(server)]
        assert any("SIGKILL" in message and "another starts" in message for message in messages)


def test_a_new_generation_and_revoked_keys_reach_every_worker(home: Path) -> None:
    key = surefind("keys", "create", "--name", "first", cwd=home).stdout.strip()
    with serving("--workers", "2", cwd=home, command=[COMMAND]) as (address, server):

        def found(key: str) -> tuple[int, int]:
            answer = httpx2.post(
                f"{address}/retrieve",
                json=QUESTION,
                headers={"Authorization": f"Bearer {key}"},
                timeout=60,
            )
            return answer.status_code, answer.json().get("generation", 0)

        while len(answering(server)) < 2:
            assert found(key) == (200, 1)
        (home / "docs" / "new.md").write_text("# Milk\n\nNever put milk into the teapot.")
        assert surefind("ingest", "docs", cwd=home).returncode == 0
        before = len(log_of(server))
        seen: set[int] = set()
        while len(seen) < 2:
            assert found(key) == (200, 2)
            seen = {line["worker"] for line in log_of(server)[before:] if "worker" in line}
        assert surefind("keys", "revoke", "first", cwd=home).returncode == 0
        assert {found(key)[0] for _ in range(40)} == {401}


def test_a_rate_limit_holds_for_all_workers_together(home: Path) -> None:
    limited = {"SUREFIND_RATE_LIMIT_PER_MINUTE": "30"}
    with serving("--workers", "2", cwd=home, command=[COMMAND], **limited) as (address, _):
        began = time.monotonic()
        answers = Counter(ask(address).status_code for _ in range(60))
        refilled = (time.monotonic() - began) * 30 / 60
        assert 30 <= answers[200] <= 31 + refilled
        assert answers[200] + answers[429] == 60


def test_workers_end_when_their_supervisor_is_killed(home: Path) -> None:
    with serving("--workers", "2", cwd=home, command=[COMMAND]) as (address, server):
        assert ask(address).status_code == 200
        workers = workers_of(server)
        server.kill()
        server.wait(timeout=30)
        eventually(lambda: not any(alive(pid) for pid in workers), "a worker goes on alone")
    with serving("--workers", "2", cwd=home, command=[COMMAND]) as (address, _):
        assert ask(address).status_code == 200, "the lock of the killed server is released"


def test_sighup_gives_all_workers_the_new_settings(home: Path) -> None:
    (home / "surefind.toml").write_text("rate_limit_per_minute = 100000\n")
    with serving("--workers", "2", cwd=home, command=[COMMAND]) as (address, server):
        first = workers_of(server)
        (home / "surefind.toml").write_text('rate_limit_per_minute = 1\nhost = "127.0.0.2"\n')
        server.send_signal(signal.SIGHUP)
        eventually(lambda: said(server, "all workers have the new settings"), "no new settings")
        assert said(server, "restart the server to change host")
        eventually(lambda: not any(alive(pid) for pid in first), "an old worker goes on")
        assert [ask(address).status_code for _ in range(3)].count(200) == 1
        second = workers_of(server)
        (home / "surefind.toml").write_text("rate_limit = 1\n")
        server.send_signal(signal.SIGHUP)
        eventually(lambda: said(server, "the workers keep their settings"), "not refused")
        assert workers_of(server) == second


def said(server: Server, message: str) -> bool:
    return any(message in line["message"] for line in log_of(server))


@pytest.mark.parametrize(
    ("workers", "message"),
    [("0", "workers"), ("-1", "workers"), ("many", "workers"), ("257", "workers")],
)
def test_a_wrong_number_of_workers_is_one_clear_line(
    home: Path, workers: str, message: str
) -> None:
    done = surefind("serve", "--workers", workers, cwd=home)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_workers_that_cannot_start_end_the_server_with_their_reason(home: Path) -> None:
    (home / "models").mkdir()
    process = start(
        *("serve", "--workers", "2", "--port", "0"),
        cwd=home,
        command=[COMMAND],
        SUREFIND_MODEL_DIR=str(home / "models"),
    )
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 2
    lines = [line for line in stderr.splitlines() if line.startswith("surefind: ")]
    assert len(lines) == 1
    assert "models" in lines[0]
    assert "Traceback" not in stderr


def test_ctrl_c_while_the_workers_start_leaves_nothing(home: Path) -> None:
    process = start("serve", "--workers", "2", "--port", "0", cwd=home, command=[COMMAND])
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    eventually(lambda: len(children.read_text().split()) == 2, "no workers")
    workers = [int(pid) for pid in children.read_text().split()]
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "Traceback" not in stderr
    eventually(lambda: not any(alive(pid) for pid in workers), "a worker outlives the server")
