"""The changes an ingest is about to make, and the guards that may stop it."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from surefind.errors import GuardStopped, InputError
from surefind.model import (
    BrokenLink,
    ChunkerSettings,
    Cost,
    EmbedderFingerprint,
    Manifest,
    PageFailure,
)

SHRINK_LIMIT = 0.2
_NAMED = 5


@dataclass(slots=True)
class PlannedChanges:
    """The planned changes, collected while the sources are read."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    failures: list[PageFailure] = field(default_factory=list)
    left_out: list[PageFailure] = field(default_factory=list)
    warnings: list[PageFailure] = field(default_factory=list)
    empty_pages: list[str] = field(default_factory=list)
    stale_chunks: list[str] = field(default_factory=list)
    new_chunks: list[str] = field(default_factory=list)
    new_tokens: int = 0
    unpaid_tokens: int = 0
    replaced: int = 0
    emptied: list[str] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    chunks: int = 0  # of the whole collection, after the changes
    unread: Counter[str] = field(default_factory=Counter)
    broken_links: list[BrokenLink] | None = None

    @property
    def any(self) -> bool:
        return bool(self.added or self.changed or self.removed)


def check_same_settings(
    manifest: Manifest, embedder: EmbedderFingerprint, chunker: ChunkerSettings, analyzer: str
) -> None:
    """Raises InputError if the model, chunker or analyzer changed, which needs a rebuild."""
    differences = (
        ("the embedder", manifest.embedder, embedder),
        ("the chunker", manifest.chunker, chunker),
        ("the lexical analyzer", manifest.lexical.analyzer, analyzer),
    )
    for name, before, now in differences:
        if before != now:
            raise InputError(
                f"collection {manifest.collection!r} was built with {name} {before}, but the "
                f"settings now name {now}. Nothing was changed; rebuild the collection with "
                "--rebuild, or choose another --collection"
            )


def check_budget(cost: Cost | None, max_cost: float | None) -> None:
    """Raises GuardStopped if embedding would cost more than `max_cost`."""
    if cost is not None and max_cost is not None and cost.amount > max_cost:
        raise GuardStopped(
            f"embedding about {cost.tokens} tokens would cost about {cost.amount:.4f} at "
            f"{cost.price_per_million_tokens:g} per million, more than --max-cost {max_cost:g}. "
            "Nothing was embedded or changed; raise --max-cost to continue"
        )


def check_not_empty(changes: PlannedChanges) -> None:
    """Raises GuardStopped if nothing could be found in the next generation."""
    if changes.chunks or not changes.any:
        return
    problems = [f"{each.source_path}: {each.reason}" for each in changes.failures[:_NAMED]]
    problems += [f"{path}: contains no text" for path in changes.empty_pages[:_NAMED]]
    named = f" ({'; '.join(problems)})" if problems else ""
    raise GuardStopped(
        f"no page has text that can be searched{named}. Nothing was changed; check the source"
    )


def check_shrinking(before: Collection[str], removed: Collection[str]) -> None:
    """Raises GuardStopped if over a fifth of the pages or a whole top-level section would go.

    Removing a single page is always allowed.
    """
    if len(removed) <= 1:
        return
    reasons = []
    if len(removed) > SHRINK_LIMIT * len(before):
        reasons.append(f"{len(removed)} of {len(before)} pages are missing")
    gone = set(removed)
    vanished = _sections(before) - _sections(path for path in before if path not in gone)
    reasons += [f"section {section} is missing entirely" for section in sorted(vanished)[:_NAMED]]
    if reasons:
        named = ", ".join(sorted(removed)[:_NAMED]) + (", …" if len(removed) > _NAMED else "")
        raise GuardStopped(
            f"{'; '.join(reasons)} ({named}). Nothing was changed; check the source, pass every "
            "folder of the collection, add --update to change only the pages that you name, or add "
            "--allow-shrink to remove the others"
        )


def check_named(missing: Iterable[str], is_unnamed: Callable[[str], bool]) -> None:
    """Raises GuardStopped if a page would go only because the sources name other pages."""
    unnamed = sorted(path for path in missing if is_unnamed(path))
    if unnamed:
        shown = ", ".join(unnamed[:_NAMED]) + (", …" if len(unnamed) > _NAMED else "")
        pages = "1 page" if len(unnamed) == 1 else f"{len(unnamed)} pages"
        raise GuardStopped(
            f"{pages} of the collection would be removed because you named only other pages "
            f"({shown}). Nothing was changed; add --update to change only the pages that you name, "
            "pass the folder of all pages, or add --allow-shrink to remove the others"
        )


def check_not_fewer(before: int, now: int) -> None:
    """Raises GuardStopped if over a fifth of a damaged generation's pages would go.

    Only the number of its pages is still known.
    """
    if before - now > max(1, SHRINK_LIMIT * before):
        raise GuardStopped(
            f"the current generation is damaged and had {before} pages, but these sources have "
            f"{now}. Nothing was changed; pass every source of the collection, or add "
            "--allow-shrink if this is intended"
        )


def _sections(source_paths: Iterable[str]) -> set[str]:
    """`docs/guide/install.md` is in `docs/guide`; `docs/index.md` is in no section."""
    parts = (path.split("/") for path in source_paths)
    return {"/".join(path[:2]) for path in parts if len(path) > 2}
