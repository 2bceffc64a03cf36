"""Connect: from a collection that something else filled to a way of reading it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from surefind.errors import InputError, StoreError
from surefind.mapping.inference import Inference, infer
from surefind.mapping.paths import is_plain, parts_of
from surefind.mapping.profiles import Profile, profiles
from surefind.mapping.records import record_of, text_in
from surefind.model import (
    CollectionFacts,
    Connection,
    Distance,
    Field,
    FieldKind,
    PayloadMapping,
    Role,
    VectorSpace,
)
from surefind.ports import ChunkTable, Embedder, ForeignCollection, ForeignPoint, PointFields
from surefind.services.connected.model_identity import Identity, ModelVerdict, identify
from surefind.services.connected.sampling import SAMPLE, sample
from surefind.services.connected.vector_origin import CountProgress
from surefind.services.encoding.bm25 import Bm25Encoder

MAX_FIELDS = 64
_UNIT = 1e-3
_TERMS_COMPARED = 32
_TERMS_ALIKE = 0.9
_LONGEST_FIELD = 200


@dataclass(frozen=True, slots=True)
class ConnectOptions:
    """What somebody asks for. `keys` are roles whose keys are given.

    `documents_table` is a table to join; empty for none, and None to look for one.
    """

    name: str
    collection: str
    url: str = ""
    vector: str | None = None
    keys: Mapping[Role, tuple[str, ...]] = field(default_factory=dict)
    documents_table: str | None = None


@dataclass(frozen=True, slots=True)
class CandidateTable:
    """A table that may be joined. If nobody has named it and it does not fit, a limit says why."""

    name: str
    table: ChunkTable
    named: bool


@dataclass(frozen=True, slots=True)
class TableJoin:
    """How the sample fits a table. `lacking` are the ids of sampled chunks without a row."""

    name: str
    place: str
    rows: int
    sampled: int
    lacking: tuple[str, ...]

    def __str__(self) -> str:
        told = f"{self.place}: {self.rows} rows"
        if not self.lacking:
            return f"{told}, one for each of {self.sampled} sampled chunks"
        some = f"{len(self.lacking)} of {self.sampled} sampled chunks, such as {self.lacking[0]}"
        return f"{told}, but none for {some}"


async def join_of(table: ChunkTable, name: str, chunk_ids: Sequence[str]) -> TableJoin:
    """StoreError where it can't be read as the retrieval API's table."""
    await table.require_columns()
    joined = await table.joined(chunk_ids)
    lacking = tuple(one for one in chunk_ids if one not in joined.found)
    return TableJoin(name, table.place, joined.rows, len(chunk_ids), lacking)


@dataclass(frozen=True, slots=True)
class Proposal:
    """How a collection would be read, and what speaks for it.

    `limits` say what can't be done with it, `doubts` what a person should look at.
    """

    connection: Connection
    facts: CollectionFacts
    inference: Inference
    identity: Identity
    limits: tuple[str, ...]
    doubts: tuple[str, ...]
    join: TableJoin | None = None

    @property
    def usable(self) -> bool:
        """Not with another model: every answer would be wrong, and look right."""
        return self.identity.verdict is not ModelVerdict.OTHER

    @property
    def mixed(self) -> bool:
        """Some vectors are of another model: part of the answers would be wrong."""
        return self.identity.verdict is ModelVerdict.MIXED


async def propose(
    collection: ForeignCollection,
    embedder: Embedder,
    terms: Bm25Encoder,
    options: ConnectOptions,
    candidate: CandidateTable | None = None,
    progress: CountProgress | None = None,
) -> Proposal:
    """`progress` hears of the texts that are embedded again."""
    facts = await collection.facts()
    space = _space(facts, options.vector, embedder.fingerprint.dimensions)
    points = await sample(collection, facts, PointFields(vector=space.name), SAMPLE)
    payloads = [point.payload for point in points]
    _check_given(options.keys, payloads)
    inference = infer(payloads, options.keys)
    identity = await identify(points, inference.mapping, space, embedder, facts, progress)
    lexical = await _lexical(collection, facts, points, inference.mapping, terms)
    accepted = identity.verdict in {ModelVerdict.SAME, ModelVerdict.DOUBTFUL, ModelVerdict.MIXED}
    connection = Connection(
        name=options.name,
        collection=options.collection,
        mapping=inference.mapping,
        space=space,
        unit=_all_unit(points),
        lexical=lexical,
        fields=fields_of_sample(payloads, inference.mapping),
        url=options.url,
        embedder=identity.embedder if accepted else None,
    )
    join, not_joined = None, ""
    if candidate is not None:
        join, not_joined = await _joined(candidate, points, connection)
    doubts = _doubts(inference, identity, points)
    if join is not None:
        connection = replace(connection, documents_table=join.name)
        doubts += ["payloads stand in for chunks without a row"] if join.lacking else []
    limits = _limits(connection, facts)
    if not_joined:
        limits.append(f"no table is joined: {not_joined}")
    return Proposal(connection, facts, inference, identity, tuple(limits), tuple(doubts), join)


async def _joined(
    candidate: CandidateTable, points: Sequence[ForeignPoint], connection: Connection
) -> tuple[TableJoin | None, str]:
    """(how the table fits, or why a table that nobody has named is left alone)."""
    names = [record_of(one.id, one.payload, connection).chunk.id for one in points]
    try:
        join = await join_of(candidate.table, candidate.name, names)
    except StoreError as error:
        if candidate.named:
            raise
        return None, str(error)
    if len(join.lacking) < len(names):
        return join, ""
    reason = (
        f"{join}; name the table whose chunk_id holds these ids, or the key of the payload that "
        "holds the table's: --map id=KEY"
    )
    if candidate.named:
        raise InputError(f"--documents-table: {reason}")
    return None, reason


# --- which vector -----------------------------------------------------------------------------


def _space(facts: CollectionFacts, wanted: str | None, dimensions: int) -> VectorSpace:
    names = ", ".join(str(space) for space in facts.vectors)
    if not facts.vectors:
        raise InputError(
            f"collection {facts.name!r} has no dense vectors, only sparse ones or none; surefind "
            "searches by meaning and needs one"
        )
    if wanted is not None:
        for space in facts.vectors:
            if space.name == wanted:
                return _single(space, facts.name)
        raise InputError(f"--vector: collection {facts.name!r} has no {wanted!r}; it has {names}")
    single = [space for space in facts.vectors if not space.multivector]
    if not single:
        return _single(facts.vectors[0], facts.name)
    fitting = [space for space in single if space.dimensions == dimensions] or single
    if len(fitting) > 1:
        raise InputError(
            f"collection {facts.name!r} has several vectors: {names}; choose one with --vector"
        )
    return fitting[0]


def _single(space: VectorSpace, collection: str) -> VectorSpace:
    if space.multivector:
        raise InputError(
            f"collection {collection!r}: {space} is a multivector: a score over many vectors of a "
            "passage is no cosine, and no embedder of surefind makes the query for it; choose "
            "another with --vector, or connect a collection with one vector per passage"
        )
    return space


def _all_unit(points: Sequence[ForeignPoint]) -> bool:
    rows = [point.vector for point in points if point.vector is not None]
    lengths = [float(np.linalg.norm(row.astype(np.float64))) for row in rows]
    return bool(lengths) and all(abs(length - 1.0) <= _UNIT for length in lengths)


# --- what is given ----------------------------------------------------------------------------


def read_map(expressions: Sequence[str]) -> dict[Role, tuple[str, ...]]:
    """`text=body`, `url=metadata.link`; a role that is given twice may be in either key."""
    keys: dict[Role, tuple[str, ...]] = {}
    for expression in expressions:
        name, sign, path = expression.partition("=")
        try:
            role = Role(name.strip())
            parts_of(path.strip())
        except ValueError as error:
            roles = ", ".join(Role)
            raise InputError(
                f"--map: {expression!r} can't be read; write role=key, where the role is one of "
                f"{roles} ({error})"
            ) from None
        if not sign:
            raise InputError(f"--map: {expression!r} names no key; write {name}=key")
        keys[role] = (*keys.get(role, ()), path.strip())
    return keys


def _check_given(
    keys: Mapping[Role, tuple[str, ...]], payloads: Sequence[Mapping[str, object] | None]
) -> None:
    known = profiles(payloads)
    for role, paths in keys.items():
        for path in paths:
            if path not in known:
                raise InputError(
                    f"--map: {role}={path}: none of the {len(payloads)} points looked at has "
                    f"anything there; there are {_listed(known)}"
                )
            _check_kind(role, known[path])


def _check_kind(role: Role, profile: Profile) -> None:
    if role is Role.TEXT and profile.strings < 0.5:
        raise InputError(f"--map: text={profile.path}: it holds no text, but {profile.example!r}")
    if role is Role.POSITION and profile.whole_numbers < 0.5 and profile.css_paths < 0.5:
        raise InputError(
            f"--map: position={profile.path}: it holds no whole numbers, but {profile.example!r}"
        )
    if role is Role.CREATED_AT and profile.moments < 0.5:
        raise InputError(
            f"--map: created_at={profile.path}: it holds no moments, but {profile.example!r}"
        )


def _listed(known: Mapping[str, Profile], most: int = 20) -> str:
    names = sorted(known)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) or "no keys at all") + more


# --- the lexical leg --------------------------------------------------------------------------


async def _lexical(
    collection: ForeignCollection,
    facts: CollectionFacts,
    points: Sequence[ForeignPoint],
    mapping: PayloadMapping,
    terms: Bm25Encoder,
) -> str:
    """The sparse vector whose terms are those that we read in the same texts; mostly none."""
    ids = [point.id for point in points[:_TERMS_COMPARED]]
    for space in facts.sparse:
        if not (space.idf and mapping.has(Role.TEXT) and ids):
            continue
        held = await collection.points(ids, PointFields(terms=space.name))
        shares = [_explained(point, mapping, terms) for point in held if point.terms]
        if shares and float(np.median(shares)) >= _TERMS_ALIKE:
            return space.name
    return ""


def _explained(point: ForeignPoint, mapping: PayloadMapping, terms: Bm25Encoder) -> float:
    """The share of our words of the text that the stored terms have too."""
    ours = set(terms.words(text_in(point.payload, mapping)))
    stored = set(point.terms.ids) if point.terms else set()
    return len(ours & stored) / len(ours) if ours else 0.0


# --- what can be filtered by ------------------------------------------------------------------


def fields_of_sample(
    payloads: Sequence[Mapping[str, object] | None], mapping: PayloadMapping
) -> tuple[Field, ...]:
    """Typed by what the sample shows; the engine can't look into JSON in a string."""
    texts = set(mapping.of(Role.TEXT))
    known = profiles(payloads)
    found: list[tuple[float, Field]] = []
    for path, profile in known.items():
        first = payloads[next(iter(profile.values))]
        if path in texts or profile.median_length > _LONGEST_FIELD or not is_plain(first, path):
            continue
        kinds = _kinds(profile)
        if kinds:
            found.append((profile.coverage, Field(path, kinds)))
    mapped = {path for role in Role for path in mapping.of(role)}
    found.sort(key=lambda one: (one[1].name not in mapped, -one[0], one[1].name))
    return tuple(sorted((one for _, one in found[:MAX_FIELDS]), key=lambda one: one.name))


def _kinds(profile: Profile) -> tuple[FieldKind, ...]:
    held = [
        item
        for value in profile.values.values()
        for item in (value if isinstance(value, tuple) else (value,))
    ]
    kinds: set[FieldKind] = set()
    for item in held:
        if isinstance(item, bool):
            kinds.add(FieldKind.FLAG)
        elif isinstance(item, int | float):
            kinds.add(FieldKind.NUMBER)
        else:
            kinds.add(FieldKind.TEXT)
    if kinds == {FieldKind.TEXT} and profile.moments > 0.9:
        kinds.add(FieldKind.DATE)
    return tuple(sorted(kinds))


# --- what a person should know ----------------------------------------------------------------

_WITHOUT = {
    Role.TEXT: "no text: hits are shown without one, there is no lexical leg, and nobody can check "
    "which model made the vectors",
    Role.POSITION: "no position: what stands around a hit can't be put in order, and gaps can't be "
    "seen",
    Role.TITLE: "no title: hits are shown by their address or path",
}


def _limits(connection: Connection, facts: CollectionFacts) -> list[str]:
    mapping = connection.mapping
    limits = [told for role, told in _WITHOUT.items() if not mapping.has(role)]
    if not mapping.has(Role.URL):
        path = mapping.has(Role.SOURCE_PATH)
        limits.append(
            "no url: hits link nowhere" + (", their source path is shown" if path else "")
        )
        if not path and not mapping.has(Role.DOCUMENT):
            limits.append("no url, path or document: every point counts as a document of its own")
    if not connection.lexical:
        sparse = ", ".join(space.name for space in facts.sparse)
        why = f"the sparse vectors ({sparse}) hold other terms" if sparse else "no sparse vectors"
        limits.append(f"{why}: searches go by meaning alone, mode lexical is refused")
    if not connection.gives_cosines:
        own = connection.space.distance
        why = (
            f"{own} tells no cosine"
            if own is Distance.MANHATTAN
            else (f"{own} over vectors that are not of length 1 tells no cosine")
        )
        limits.append(
            f"{why}: the order is the engine's own, the similarity shown is the true cosine, "
            "computed here"
        )
    return limits


def _doubts(inference: Inference, identity: Identity, points: Sequence[ForeignPoint]) -> list[str]:
    doubts = []
    if inference.empty:
        share = inference.empty / max(1, inference.points)
        doubts.append(f"{share:.0%} of the points looked at have no payload")
    for choice in inference.choices:
        if choice.ambiguous:
            others = ", ".join(fit.path for fit in choice.runners_up if not fit.same)
            doubts.append(
                f"{choice.role}: {choice.keys[0]} or {others}? Say --map {choice.role}=KEY"
            )
        elif len(choice.keys) > 1:
            doubts.append(f"{choice.role}: different points have it in {', '.join(choice.keys)}")
    if identity.verdict in {ModelVerdict.DOUBTFUL, ModelVerdict.MIXED, ModelVerdict.UNTESTED}:
        doubts.append(identity.reason)
    without = sum(point.vector is None for point in points)
    if without:
        doubts.append(f"{without} of {len(points)} points have no such vector, and can't be found")
    return doubts
