"""Search endpoints over real HTTP: requests, retries, timeouts, and answers that are none."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import anyio
import pytest

from support.search_service import SITE, Service, Trouble, search_service
from surefind.adapters.targets.json_endpoint import JsonEndpoint
from surefind.adapters.targets.mapped_target import MappedTarget
from surefind.errors import InputError, TargetError, TargetUnreachable
from surefind.model import ResultMapping, Role, TargetQuery, TargetSpec

MAPPING = ResultMapping(items="results", keys={Role.URL: ("url",)}, score="score")
QUESTION = TargetQuery("power", "Which socket & cable?", 3)


@pytest.fixture
def service() -> Iterator[Service]:
    with search_service() as running:
        yield running


@asynccontextmanager
async def target_of(spec: TargetSpec, **environment: str) -> AsyncIterator[MappedTarget]:
    endpoint = JsonEndpoint(spec, environment)
    try:
        yield MappedTarget(spec, endpoint, lambda _: None)
    finally:
        await endpoint.close()


async def test_a_question_is_posted(service: Service) -> None:
    async with target_of(TargetSpec(service.url, results=MAPPING)) as target:
        answer = await target.search(QUESTION)
    assert service.requests == [{"query": QUESTION.text, "top_k": 3}]
    assert answer.hits[0].url == f"{SITE}/guide/power.html"
    assert answer.latency_ms is not None
    assert target.takes_limit


async def test_a_question_in_a_url_is_escaped(service: Service) -> None:
    spec = TargetSpec(f"{service.url}?q={{query}}", results=MAPPING)
    async with target_of(spec) as target:
        await target.search(QUESTION)
    assert service.requests == [{"q": QUESTION.text}]
    assert not target.takes_limit


async def test_headers_take_secrets_from_the_environment(service: Service) -> None:
    spec = TargetSpec(service.url, headers={"X-Key": "k ${TOKEN}"}, results=MAPPING)
    async with target_of(spec, TOKEN="secret") as target:
        await target.search(QUESTION)
    assert service.headers[0]["X-Key"] == "k secret"
    with pytest.raises(InputError, match="needs the environment variable TOKEN"):
        JsonEndpoint(spec, {})


async def test_a_busy_service_is_asked_again(service: Service) -> None:
    service.troubles = [Trouble(503), Trouble(429, headers={"Retry-After": "0.1"})]
    async with target_of(TargetSpec(service.url, results=MAPPING)) as target:
        answer = await target.search(QUESTION)
    assert answer.hits
    assert len(service.requests) == 3


async def test_retries_are_bounded(service: Service) -> None:
    service.always = Trouble(500, body="out of memory")
    async with target_of(TargetSpec(service.url, retries=1, results=MAPPING)) as target:
        with pytest.raises(TargetUnreachable, match=r"status 500: out of memory; tried 2 times"):
            await target.search(QUESTION)
    assert len(service.requests) == 2


@pytest.mark.parametrize("status", [400, 401, 404])
async def test_a_refusal_is_not_repeated(service: Service, status: int) -> None:
    service.always = Trouble(status)
    async with target_of(TargetSpec(service.url, results=MAPPING)) as target:
        with pytest.raises(TargetUnreachable, match=str(status)):
            await target.search(QUESTION)
    assert len(service.requests) == 1


async def test_a_silent_service_times_out(service: Service) -> None:
    service.always = Trouble(silent_s=2)
    spec = TargetSpec(service.url, timeout_s=0.2, retries=0, results=MAPPING)
    async with target_of(spec) as target:
        with pytest.raises(TargetUnreachable, match="no answer"):
            await target.search(QUESTION)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("<html>Sign in</html>", "the answer is not JSON: <html>Sign in"),
        ('{"results": 3}', "there is no list at results"),
        ("[" * 100_000, "the answer is not JSON"),
        ('"' + "x" * 17 * 2**20 + '"', "more than 16,777,216 bytes"),
    ],
)
async def test_nonsense_is_an_error(service: Service, body: str, said: str) -> None:
    service.always = Trouble(body=body)
    async with target_of(TargetSpec(service.url, results=MAPPING)) as target:
        with pytest.raises(TargetError, match=said):
            await target.search(QUESTION)
    assert len(service.requests) == 1


async def test_no_more_requests_run_at_once_than_allowed(service: Service) -> None:
    service.always = Trouble(silent_s=0.05)
    spec = TargetSpec(service.url, concurrency=2, results=MAPPING)
    async with target_of(spec) as target, anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(target.search, QUESTION)
    assert service.most_at_once == 2


async def test_requests_keep_a_pace(service: Service) -> None:
    spec = TargetSpec(service.url, requests_per_second=20, results=MAPPING)
    async with target_of(spec) as target:
        began = anyio.current_time()
        for _ in range(5):
            await target.search(QUESTION)
        assert anyio.current_time() - began >= 0.19


async def test_the_mapping_is_inferred_from_a_few_questions(service: Service) -> None:
    async with target_of(TargetSpec(service.url)) as target:
        queries = [TargetQuery(str(n), QUESTION.text, 3) for n in range(20)]
        inference = await target.infer(queries)
        assert inference is not None
        assert len(service.requests) == 3
        assert (await target.search(QUESTION)).hits[0].url == f"{SITE}/guide/power.html"
        assert await target.infer(queries) is None


async def test_some_questions_may_fail_while_the_mapping_is_inferred(service: Service) -> None:
    service.troubles = [Trouble(body="?"), Trouble(body="{}")]
    async with target_of(TargetSpec(service.url)) as target:
        assert await target.infer([QUESTION] * 6) is not None


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (TargetSpec("https://"), "is not a valid URL"),
        (TargetSpec("https://u:secret@h:x/"), "https://…@h:x/ is not a valid URL"),
        (TargetSpec("https://h/s", body={"q": "x"}), "the question is nowhere in the request"),
        (TargetSpec("https://h/s", method="GET"), "the question is nowhere in the request"),
    ],
)
def test_a_request_without_a_question_is_refused(spec: TargetSpec, said: str) -> None:
    with pytest.raises(InputError, match=said):
        JsonEndpoint(spec, {})


async def test_a_path_that_cannot_be_followed_is_refused(service: Service) -> None:
    with pytest.raises(InputError, match=r"invalid payload path 'data\.\.url'"):
        async with target_of(TargetSpec(service.url, results=ResultMapping(items="data..url"))):
            pass
