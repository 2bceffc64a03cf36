"""Proposes how to read a collection that another program filled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from surefind.errors import InputError
from surefind.mapping.inference import Inference, infer
from surefind.mapping.paths import is_plain, parts_of
from surefind.mapping.profiles import Profile, profiles
from surefind.mapping.records import text_in
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
from surefind.ports import Embedder, ForeignCollection, ForeignPoint, PointFields
from surefind.services.connected.model_identity import Identity, ModelVerdict, identify
from surefind.services.connected.sampling import SAMPLE, sample
from surefind.services.connected.table_join import CandidateTable, TableJoin, join_if_it_fits
from surefind.services.connected.vector_origin import CountProgress
from surefind.services.encoding.bm25 import Bm25Encoder

MAX_FIELDS = 64
_MAX_FIELD_LENGTH = 200
_LENGTH_TOLERANCE = 1e-3
_TERMS_SAMPLE = 32
_MIN_SHARED_TERMS = 0.9


@dataclass(frozen=True, slots=True)
class ConnectOptions:
    """`keys` holds the keys that the user chose, by role.

    `documents_table` names a table to join. It is empty to join none, and None to search for one.
    """

    name: str
    collection: str
    url: str = ""
    vector: str | None = None
    keys: Mapping[Role, tuple[str, ...]] = field(default_factory=dict)
    documents_table: str | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """How a collection would be read, and the evidence for it.

    `limits` lists what will not work, and `doubts` what the user should check.
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
        """False if another model made the vectors: all results would be plausible, but wrong."""
        return self.identity.verdict is not ModelVerdict.OTHER

    @property
    def mixed(self) -> bool:
        """True if another model made some of the vectors, so some results would be wrong."""
        return self.identity.verdict is ModelVerdict.MIXED


async def propose(
    collection: ForeignCollection,
    embedder: Embedder,
    terms: Bm25Encoder,
    options: ConnectOptions,
    candidate: CandidateTable | None = None,
    progress: CountProgress | None = None,
) -> Proposal:
    """Sample the collection, map its payload, and check which model made its vectors.

    `progress` receives the number of texts embedded so far, and their total.
    """
    facts = await collection.facts()
    space = _choose_vector(facts, options.vector, embedder.fingerprint.dimensions)
    points = await sample(collection, facts, PointFields(vector=space.name), SAMPLE)
    payloads = [point.payload for point in points]
    _check_given_keys(options.keys, payloads)
    inference = infer(payloads, options.keys)
    identity = await identify(points, inference.mapping, space, embedder, facts, progress)
    checked = identity.verdict in {ModelVerdict.SAME, ModelVerdict.DOUBTFUL, ModelVerdict.MIXED}
    connection = Connection(
        name=options.name,
        collection=options.collection,
        mapping=inference.mapping,
        space=space,
        unit=_all_have_length_1(points),
        lexical=await _lexical_vector(collection, facts, points, inference.mapping, terms),
        fields=filterable_fields(payloads, inference.mapping),
        url=options.url,
        embedder=identity.embedder if checked else None,
    )
    limits = _limits(connection, facts)
    doubts = _doubts(inference, identity, points)
    join = None
    if candidate is not None:
        join, reason = await join_if_it_fits(candidate, points, connection)
        if join is None:
            limits.append(f"no table is joined: {reason}")
        else:
            connection = replace(connection, documents_table=join.name)
            if join.lacking:
                doubts.append("chunks without a row are shown with the values of their payload")
    return Proposal(connection, facts, inference, identity, tuple(limits), tuple(doubts), join)


# --- which vector -----------------------------------------------------------------------------


def _choose_vector(facts: CollectionFacts, name: str | None, dimensions: int) -> VectorSpace:
    """The named vector, or the only one of the embedder's size."""
    if not facts.vectors:
        raise InputError(
            f"collection {facts.name!r} has no dense vectors, and surefind needs one for semantic "
            "search; choose another collection"
        )
    vectors = ", ".join(str(space) for space in facts.vectors)
    if name is not None:
        for space in facts.vectors:
            if space.name == name:
                return _require_single(space, facts.name)
        raise InputError(f"--vector: collection {facts.name!r} has no {name!r}; it has {vectors}")
    single = [space for space in facts.vectors if not space.multivector]
    if not single:
        return _require_single(facts.vectors[0], facts.name)
    fitting = [space for space in single if space.dimensions == dimensions] or single
    if len(fitting) > 1:
        raise InputError(
            f"collection {facts.name!r} has several vectors: {vectors}; choose one with --vector"
        )
    return fitting[0]


def _require_single(space: VectorSpace, collection: str) -> VectorSpace:
    if space.multivector:
        raise InputError(
            f"collection {collection!r}: {space} is a multivector, and surefind has no embedder "
            "that makes queries for it; choose another vector with --vector, or connect a "
            "collection with one vector per passage"
        )
    return space


def _all_have_length_1(points: Sequence[ForeignPoint]) -> bool:
    vectors = [point.vector for point in points if point.vector is not None]
    lengths = [float(np.linalg.norm(vector.astype(np.float64))) for vector in vectors]
    return bool(lengths) and all(abs(length - 1.0) <= _LENGTH_TOLERANCE for length in lengths)


# --- the keys that the user gave --------------------------------------------------------------


def read_map(expressions: Sequence[str]) -> dict[Role, tuple[str, ...]]:
    """Parse `role=key` expressions. A role may have several keys.

    >>> read_map(["url=metadata.link"])[Role.URL]
    ('metadata.link',)
    """
    keys: dict[Role, tuple[str, ...]] = {}
    for expression in expressions:
        name, sign, path = expression.partition("=")
        try:
            role = Role(name.strip())
        except ValueError:
            raise InputError(
                f"--map: {expression!r} names no known role; write ROLE=KEY, with one of these "
                f"roles: {', '.join(Role)}"
            ) from None
        if not sign:
            raise InputError(f"--map: {expression!r} names no key; write {role}=KEY")
        try:
            parts_of(path.strip())
        except ValueError as error:
            raise InputError(f"--map: {expression!r}: {error}") from None
        keys[role] = (*keys.get(role, ()), path.strip())
    return keys


def _check_given_keys(
    keys: Mapping[Role, tuple[str, ...]], payloads: Sequence[Mapping[str, object] | None]
) -> None:
    known = profiles(payloads)
    for role, paths in keys.items():
        for path in paths:
            if path not in known:
                raise InputError(
                    f"--map: {role}={path}: none of the {len(payloads)} points in the sample has "
                    f"a value there; they have {_listed(known)}"
                )
            _check_kind(role, known[path])


def _check_kind(role: Role, profile: Profile) -> None:
    if role is Role.TEXT and profile.strings < 0.5:
        kind = "no text"
    elif role is Role.POSITION and profile.whole_numbers < 0.5 and profile.css_paths < 0.5:
        kind = "no whole numbers"
    elif role is Role.CREATED_AT and profile.moments < 0.5:
        kind = "no dates or times"
    else:
        return
    raise InputError(
        f"--map: {role}={profile.path}: the key holds {kind}, but {profile.example!r}; map "
        "another key"
    )


def _listed(known: Mapping[str, Profile], most: int = 20) -> str:
    names = sorted(known)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) or "no keys at all") + more


# --- keyword search ---------------------------------------------------------------------------


async def _lexical_vector(
    collection: ForeignCollection,
    facts: CollectionFacts,
    points: Sequence[ForeignPoint],
    mapping: PayloadMapping,
    terms: Bm25Encoder,
) -> str:
    """The sparse vector with the same terms as surefind's own for these texts, if any."""
    ids = [point.id for point in points[:_TERMS_SAMPLE]]
    if not ids or not mapping.has(Role.TEXT):
        return ""
    for space in facts.sparse:
        if space.idf:
            stored = await collection.points(ids, PointFields(terms=space.name))
            shares = [_shared_terms(point, mapping, terms) for point in stored if point.terms]
            if shares and float(np.median(shares)) >= _MIN_SHARED_TERMS:
                return space.name
    return ""


def _shared_terms(point: ForeignPoint, mapping: PayloadMapping, terms: Bm25Encoder) -> float:
    """The share of surefind's terms for the text that the stored vector also has."""
    ours = set(terms.words(text_in(point.payload, mapping)))
    stored = set(point.terms.ids) if point.terms else set()
    return len(ours & stored) / len(ours) if ours else 0.0


# --- filters ----------------------------------------------------------------------------------


def filterable_fields(
    payloads: Sequence[Mapping[str, object] | None], mapping: PayloadMapping
) -> tuple[Field, ...]:
    """The keys that a filter may name, by the types in the sample; mapped keys come first.

    Qdrant can't filter by keys inside a JSON string, so these are omitted.
    """
    texts = set(mapping.of(Role.TEXT))
    candidates: list[tuple[float, Field]] = []
    for path, profile in profiles(payloads).items():
        first = payloads[next(iter(profile.values))]
        too_long = profile.median_length > _MAX_FIELD_LENGTH
        if path in texts or too_long or not is_plain(first, path):
            continue
        kinds = _kinds(profile)
        if kinds:
            candidates.append((profile.coverage, Field(path, kinds)))
    mapped = {path for role in Role for path in mapping.of(role)}
    candidates.sort(key=lambda pair: (pair[1].name not in mapped, -pair[0], pair[1].name))
    fields = (field for _, field in candidates[:MAX_FIELDS])
    return tuple(sorted(fields, key=lambda field: field.name))


def _kinds(profile: Profile) -> tuple[FieldKind, ...]:
    items = [
        item
        for value in profile.values.values()
        for item in (value if isinstance(value, tuple) else (value,))
    ]
    kinds: set[FieldKind] = set()
    for item in items:
        if isinstance(item, bool):
            kinds.add(FieldKind.FLAG)
        elif isinstance(item, int | float):
            kinds.add(FieldKind.NUMBER)
        else:
            kinds.add(FieldKind.TEXT)
    if kinds == {FieldKind.TEXT} and profile.moments > 0.9:
        kinds.add(FieldKind.DATE)
    return tuple(sorted(kinds))


# --- limits and doubts ------------------------------------------------------------------------

_WITHOUT_ROLE = {
    Role.TEXT: "no text: hits have no text, keyword search is off, and surefind can't check which "
    "model made the vectors",
    Role.POSITION: "no position: the chunks around a hit can't be ordered, and missing chunks go "
    "unnoticed",
    Role.TITLE: "no title: hits are shown with their URL or path instead",
}


def _limits(connection: Connection, facts: CollectionFacts) -> list[str]:
    mapping = connection.mapping
    limits = [limit for role, limit in _WITHOUT_ROLE.items() if not mapping.has(role)]
    if not mapping.has(Role.URL):
        has_path = mapping.has(Role.SOURCE_PATH)
        limits.append(
            "no url: hits have no link" + (", and show their source path" if has_path else "")
        )
        if not has_path and not mapping.has(Role.DOCUMENT):
            limits.append("no url, path or document: each point counts as its own document")
    if not connection.lexical:
        sparse = ", ".join(space.name for space in facts.sparse)
        reason = (
            f"the sparse vectors ({sparse}) hold other terms" if sparse else "no sparse vectors"
        )
        limits.append(f"{reason}: search is semantic only, and mode lexical is an error")
    if not connection.gives_cosines:
        distance = connection.space.distance
        vectors = "" if distance is Distance.MANHATTAN else " over vectors of other lengths than 1"
        limits.append(
            f"{distance}{vectors} is not a cosine: Qdrant's order is kept, and surefind computes "
            "the similarities that it shows"
        )
    return limits


def _doubts(inference: Inference, identity: Identity, points: Sequence[ForeignPoint]) -> list[str]:
    doubts = []
    if inference.empty:
        share = inference.empty / max(1, inference.points)
        doubts.append(f"{share:.0%} of the sampled points have no payload")
    for choice in inference.choices:
        if choice.ambiguous:
            others = ", ".join(fit.path for fit in choice.runners_up if not fit.same)
            doubts.append(
                f"{choice.role} may be {choice.keys[0]} or {others}; choose with "
                f"--map {choice.role}=KEY"
            )
        elif len(choice.keys) > 1:
            doubts.append(f"{choice.role} is in different keys: {', '.join(choice.keys)}")
    if identity.verdict in {ModelVerdict.DOUBTFUL, ModelVerdict.MIXED, ModelVerdict.UNTESTED}:
        doubts.append(identity.reason)
    without = sum(point.vector is None for point in points)
    if without:
        doubts.append(
            f"{without} of {len(points)} sampled points lack this vector, so no search finds them"
        )
    return doubts
