"""An audit: what is wrong is found, what is right is left alone, and memory stays bounded."""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from qdrant_client import models

from support.fakes import WordEmbedder
from support.foreign import EMBEDDER, Door, Filling, client_of, plain_payload, proposed
from support.payload_shapes import Passage, Payload, book
from support.qdrant.http_server import serve
from support.qdrant.service import BROKEN, Service
from surefind.errors import InputError, StoreError
from surefind.model import GenerationRef
from surefind.services.generations.index_building import Progress
from surefind.services.generations.readers import OpenGeneration
from surefind.services.maintenance.audit import AuditOptions, audit
from surefind.services.maintenance.audit_checks import PointChecks, SampledTable
from surefind.services.maintenance.audit_hashes import HashCheck
from surefind.services.maintenance.audit_points import AuditedPoint
from surefind.services.maintenance.audit_report import AuditFinding, AuditReport, AuditSeverity
from unit.installation import PAGES, Installation

pytestmark = pytest.mark.anyio


def apart(passages: Sequence[Passage]) -> list[Passage]:
    """The first of those to which the small embedder gives the same vector."""
    vectors = np.stack([EMBEDDER.embed(one.text) for one in passages])
    kept: list[int] = []
    for number, vector in enumerate(vectors):
        if (vectors[kept] @ vector < 0.9999).all():
            kept.append(number)
    return [passages[number] for number in kept]


PASSAGES = apart(book(48))


def ignored(_: Progress) -> None:
    pass


async def embedder() -> WordEmbedder:
    return EMBEDDER


def counted(report: AuditReport, severity: AuditSeverity = AuditSeverity.PROBLEM) -> dict[str, int]:
    return {
        finding.message.partition(":")[0].partition(" (")[0].partition(";")[0]: finding.count
        for finding in report.findings
        if finding.severity is severity
    }


# --- our own ----------------------------------------------------------------------------------


@pytest.fixture
async def installation(tmp_path: Path) -> AsyncIterator[Installation]:
    made = Installation(tmp_path / "data")
    await made.ingest(PAGES)
    yield made
    await made.close()


async def audited(installation: Installation) -> AuditReport:
    async with installation.reader.lease() as generation:
        return await audit(generation, None, embedder, AuditOptions(), ignored)


async def test_a_collection_of_our_own_is_whole(installation: Installation) -> None:
    report = await audited(installation)
    assert report.sound
    assert report.read == report.points == 5
    assert "all 5 hashes match" in next(iter(counted(report, AuditSeverity.NOTE)), "")


async def test_an_index_that_lost_or_changed_something_is_found_out(
    installation: Installation,
) -> None:
    """Rows of the catalog are changed behind everybody's back, as a damaged disk would."""
    async with installation.reader.lease() as generation:
        assert generation.catalog is not None
        records = [record async for record in generation.catalog.chunks()]
        manifest = generation.manifest
    await installation.readers.close()
    writer = await installation.index.create(
        GenerationRef("docs", 9), EMBEDDER.dimensions, manifest.ref
    )
    await writer.delete([records[0].point_id])
    await writer.finish()

    index = await installation.index.open(GenerationRef("docs", 9))
    catalog = await installation.catalogs.open(manifest.ref)
    report = await audit(
        OpenGeneration(manifest, index, catalog), None, embedder, AuditOptions(), ignored
    )
    await index.close()
    await catalog.close()
    assert counted(report) == {
        "chunks are in the catalog, but not in the index": 1,
        "points have no vector": 1,
    }
    [first] = [finding for finding in report.findings if finding.check == "index"]
    assert first.examples == (records[0].chunk.id,)


async def test_without_its_catalog_half_of_it_can_not_be_compared(
    installation: Installation,
) -> None:
    await installation.lose_catalog()
    with pytest.raises(StoreError, match="the catalog is unavailable"):
        await audited(installation)


# --- connected --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with serve() as made:
        yield made


@asynccontextmanager
async def auditing(service: Service, filling: Filling) -> AsyncIterator[Door]:
    name = await filling.into(service.address)
    door = Door(service.address, (await proposed(service.address, name)).connection)
    yield door
    await door.close()


async def audited_door(
    door: Door,
    options: AuditOptions = AuditOptions(),  # noqa: B008 - it is frozen
    embedder: Callable[[], Awaitable[WordEmbedder]] = embedder,
) -> AuditReport:
    async with door.readers.of(door.collection.connection.name).lease() as generation:
        return await audit(generation, door.foreign, embedder, options, ignored)


async def test_a_strangers_whole_collection_is_found_whole(service: Service) -> None:
    async with auditing(service, Filling(passages=PASSAGES)) as door:
        report = await audited_door(door)
    assert report.sound, report.findings
    assert report.read == len(PASSAGES) > 40
    assert any("sha256 of the text" in finding.message for finding in report.findings)


def faulty(p: Passage) -> Payload:
    payload = dict(plain_payload(p) or {})
    if p.number == 1:
        payload["text"] = ""
    if p.number == 2:
        payload["content_hash"] = "0" * 64
    if p.number == 3:
        payload["url"] = "https://exa mple.org/a"
    if p.number == 4:
        payload["url"] = "http://localhost:3000/docs"
    if p.number == 5:
        payload["text"] = "tiny"
        payload["content_hash"] = hashlib.sha256(b"tiny").hexdigest()
    if p.number == 6:
        del payload["title"]
    if p.number == 7:
        payload["chunk_index"] = 40
    return payload


async def test_faults_are_counted_and_named(service: Service) -> None:
    async with auditing(service, Filling(faulty, passages=PASSAGES)) as door:
        client = client_of(service.address)
        copy = next(one for one in book(48) if one.number == 20)
        rows = await EMBEDDER.embed_passages([copy.text, "x", "y"])
        other = dict(plain_payload(copy) or {}, text="another text of some length, with its own")
        other["content_hash"] = hashlib.sha256(str(other["text"]).encode()).hexdigest()
        points = [
            models.PointStruct(
                id=str(UUID(int=1)),
                vector=rows[0].tolist(),
                payload=plain_payload(copy),  # type: ignore[arg-type]
            ),
            models.PointStruct(id=str(UUID(int=2)), vector=rows[0].tolist(), payload=other),
            models.PointStruct(
                id=str(UUID(int=3)),
                vector=[0.0] * 32,
                payload=dict(
                    plain_payload(copy) or {},
                    text="a zero vector stands here, it says",
                    content_hash=None,
                ),
            ),
        ]
        await client.upsert(door.collection.connection.collection, points, wait=True)
        await client.close()
        report = await audited_door(door)
    assert not report.sound
    assert counted(report) == {
        "points have no text": 1,
        "hashes do not match their text": 1,
        "URLs contain whitespace": 1,
        "texts occur more than once in one document": 1,
        "pairs of different texts have the same vector": 1,
        "vectors are all zeros": 1,
        "of 46 vectors": 1,
    }
    warned = counted(report, AuditSeverity.WARNING)
    assert warned["texts have fewer than 20 characters"] == 1
    assert warned["URLs lead to the local machine"] == 1
    assert warned["documents have gaps between their positions"] >= 1
    assert warned["documents have a position more than once"] >= 1
    assert any("have no title" in message for message in warned)


def mixed(every: int) -> Filling:
    return Filling(
        passages=apart(book(300)), by_another_model=lambda passage: passage.number % every == 0
    )


@pytest.mark.parametrize("every", [2, 10, 50])
async def test_vectors_of_another_model_are_a_problem_with_a_share_and_examples(
    service: Service, every: int
) -> None:
    filling = mixed(every)
    strange = {one.uuid for one in filling.passages if one.number % every == 0}
    async with auditing(service, filling) as door:
        report = await audited_door(door)
    [problem] = [one for one in report.findings if one.severity is AuditSeverity.PROBLEM]
    assert not report.sound
    assert problem.check == "model"
    assert "were not made from their text" in problem.message
    assert {example.partition(":")[0] for example in problem.examples} <= strange
    assert 0.8 * len(strange) <= problem.count <= len(strange)
    assert report.vectors is not None
    assert report.vectors.complete  # the sample is larger than the collection


async def test_a_sample_bounds_the_share_and_all_counts_it(service: Service) -> None:
    filling = mixed(10)
    strange = sum(one.number % 10 == 0 for one in filling.passages)
    share = strange / len(filling.passages)
    async with auditing(service, filling) as door:
        sampled = await audited_door(door, AuditOptions(certainty=0.95, share=0.03))
        whole = await audited_door(door, AuditOptions(share=0.03, all_vectors=True))
        left = await audited_door(door, AuditOptions(certainty=0))
    assert sampled.vectors is not None
    assert sampled.vectors.compared == 99
    low, high = sampled.vectors.interval()
    assert low <= share <= high
    assert low < high
    assert whole.vectors is not None
    assert whole.vectors.compared == len(filling.passages)
    assert 0.9 * strange <= whole.vectors.foreign <= strange
    assert left.vectors is None
    assert left.sound


async def test_matching_vectors_are_reported_with_their_certainty(service: Service) -> None:
    async with auditing(service, Filling(passages=apart(book(300)))) as door:
        report = await audited_door(door, AuditOptions(share=0.03))
    [note] = [finding for finding in report.findings if finding.check == "model"]
    assert note.severity is AuditSeverity.NOTE
    assert "with 95 % certainty, fewer than 3 %" in note.message


async def test_an_embedder_that_fails_leaves_the_rest_of_the_audit(service: Service) -> None:
    async def failing() -> WordEmbedder:
        embedder = WordEmbedder()
        embedder.fail_at = 1
        return embedder

    async def another() -> WordEmbedder:
        return WordEmbedder(weights="words-2")

    async with auditing(service, Filling(passages=PASSAGES)) as door:
        failed = await audited_door(door, embedder=failing)
        other = await audited_door(door, embedder=another)
    for report, said in ((failed, "fails on request"), (other, "is configured")):
        [finding] = [one for one in report.findings if one.check == "model"]
        assert finding.severity is AuditSeverity.WARNING
        assert said in finding.message
        assert report.vectors is None
        assert report.read == len(PASSAGES)


@pytest.mark.parametrize(
    ("options", "said"), [({"certainty": 1}, "--all"), ({"share": 0}, "even a single vector")]
)
def test_what_no_sample_can_promise_is_refused(options: dict[str, float], said: str) -> None:
    with pytest.raises(InputError, match=said):
        AuditOptions(**options)  # type: ignore[arg-type]


async def test_a_store_that_fails_during_the_audit_is_an_error(service: Service) -> None:
    async with auditing(service, Filling(passages=PASSAGES)) as door:
        await audited_door(door)
        service.always = BROKEN
        try:
            with pytest.raises(StoreError):
                await audited_door(door)
        finally:
            service.always = None


# --- the parts --------------------------------------------------------------------------------


def hash_findings(pairs: Sequence[tuple[str, str]]) -> list[AuditFinding]:
    check = HashCheck()
    for number, (text, digest) in enumerate(pairs):
        check.add(str(number), text, digest)
    return check.findings()


TEXTS = [f"  Passage number {number} \n of some length " for number in range(80)]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda text: hashlib.md5(text.encode()).hexdigest(), "md5 of the text)"),
        (
            lambda text: hashlib.sha1(text.strip().encode()).hexdigest(),
            "without surrounding whitespace",
        ),
        (lambda text: hashlib.sha256(text.encode()).hexdigest()[:8], "sha256 of the text)"),
        (lambda text: "sha256:" + hashlib.sha256(text.encode()).hexdigest().upper(), "sha256 of"),
        (lambda text: hashlib.blake2b(text.lower().encode()).hexdigest(), "in lower case"),
    ],
)
def test_the_recipe_of_hashes_is_found(make: Callable[[str], str], said: str) -> None:
    pairs = [(text, make(text)) for text in TEXTS]
    [right] = hash_findings(pairs)
    assert said in right.message
    assert right.severity == "note"
    [wrong] = hash_findings([*pairs[:70], ("changed text", pairs[70][1]), *pairs[71:]])
    assert (wrong.severity, wrong.count, wrong.examples) == ("problem", 1, ("70",))


def test_hashes_of_something_else_are_not_called_wrong() -> None:
    [finding] = hash_findings([(text, f"{number:08x}") for number, text in enumerate(TEXTS)])
    assert finding.severity == "note"
    assert "can't be checked" in finding.message
    assert hash_findings([]) == []


def test_a_full_table_continues_as_a_sample() -> None:
    table: SampledTable[int] = SampledTable(100)
    for key in range(5000):
        if table.takes(key):
            table.put(key, key)
    assert len(list(table.values())) <= 100
    assert table.scale >= 50


def findings_of(checks: PointChecks, check: str) -> list[AuditFinding]:
    return [finding for finding in checks.findings(has_texts=True) if finding.check == check]


def a_row(number: int, text: str, document: str) -> AuditedPoint:
    return AuditedPoint(
        point=UUID(int=number),
        label=str(number),
        text=text,
        embedded=text,
        url="",
        document=document,
        position=number,
        digest="",
        vector=np.random.default_rng(number).standard_normal(4).astype(np.float32),
        missing=(),
    )


@pytest.mark.parametrize(
    ("documents", "found"),
    [
        (("a", "a"), "texts occur more than once in one document"),
        (("a", "b"), "texts also occur in another document"),
        (("", ""), "texts occur more than once, in documents that are unknown"),
        (("a", ""), "texts occur more than once, in documents that are unknown"),
    ],
)
def test_a_copy_is_in_the_same_document_only_if_the_document_is_known(
    documents: tuple[str, str], found: str
) -> None:
    checks = PointChecks(dimensions=4)
    checks.add([a_row(at, "one text in two places", name) for at, name in enumerate(documents)])
    [copies] = findings_of(checks, "copies")
    assert (copies.message, copies.count) == (found, 1)


def test_points_without_a_field_are_counted_in_a_sentence() -> None:
    checks = PointChecks(dimensions=4)
    rows = [a_row(at, f"text number {at} of four", "a") for at in range(4)]
    checks.add([replace(rows[0], missing=("url",)), *rows[1:]])
    [missing] = findings_of(checks, "roles")
    assert (missing.count, missing.message) == (1, "points have no url (25.0% of all)")


def test_copies_are_estimated_where_there_are_too_many_to_keep() -> None:
    checks = PointChecks(dimensions=4, max_keys=200)
    for number in range(4000):
        checks.add([a_row(number, f"a text that is there twice, number {number // 2}", "one")])
    [copies] = findings_of(checks, "copies")
    assert "estimated" in copies.message
    assert 1000 < copies.count < 3000
