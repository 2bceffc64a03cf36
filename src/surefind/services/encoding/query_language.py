"""The language in which a query searches: its pages, and the analysis of its words."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from surefind.errors import InputError
from surefind.model import (
    ANY_LANGUAGE,
    AUTO_LANGUAGE,
    DEFAULT_LANGUAGE,
    LANGUAGE,
    LANGUAGE_NAMES,
    AnyOf,
    Condition,
    Manifest,
    Query,
    language_code,
)
from surefind.text.languages import question_language

_SHOWN = 40
_CHOSEN_BY = {LANGUAGE, "locale", "language"}


def check_language(language: object) -> None:
    if language not in (ANY_LANGUAGE, AUTO_LANGUAGE) and not language_code(language):
        raise InputError(
            "language must be auto, any or a code such as de or zh, not "
            f"{repr(language)[:_SHOWN]}; surefind knows {', '.join(sorted(LANGUAGE_NAMES))}"
        )


def with_language(query: Query, manifests: Sequence[Manifest], notes: list[str]) -> Query:
    """The query in a language of the collections, or in any. Adds a note if this filters pages."""
    available = _languages(manifests)
    if query.language == ANY_LANGUAGE:
        return query
    if query.language != AUTO_LANGUAGE:
        return replace(query, language=_existing(query, available))
    if len(available) == 1:
        return query if available == (DEFAULT_LANGUAGE,) else replace(query, language=available[0])
    if any(one.key in _CHOSEN_BY for one in query.where):
        return query
    code = question_language(query.text, available)
    if not code:
        return replace(query, language=ANY_LANGUAGE)
    notes.append(
        f"searched only the pages in {LANGUAGE_NAMES[code]}, the language of the question; "
        "set language to any to search all pages"
    )
    return replace(query, language=code)


def _existing(query: Query, available: Sequence[str]) -> str:
    code = language_code(query.language)
    if code not in available:
        raise InputError(
            f"language: {' and '.join(query.collections)} has no pages in {LANGUAGE_NAMES[code]}; "
            f"it has pages in {', '.join(LANGUAGE_NAMES[each] for each in available)}"
        )
    return code


def analyzed_as(query: Query, manifests: Iterable[Manifest]) -> tuple[str, ...]:
    """The languages by which to analyze the words of a query."""
    if query.language in LANGUAGE_NAMES:
        return (query.language,)
    return _languages(manifests)


def _languages(manifests: Iterable[Manifest]) -> tuple[str, ...]:
    """Connected collections, and those of earlier versions, are analyzed as English."""
    return tuple(
        sorted({code for one in manifests for code in one.languages or (DEFAULT_LANGUAGE,)})
    )


def language_filter(query: Query, manifest: Manifest) -> tuple[Condition, ...]:
    """The condition that pages are in the language of the query; English pages have no mark."""
    others = [code for code in manifest.languages if code != query.language]
    if query.language not in LANGUAGE_NAMES or not others:
        return ()
    if query.language == DEFAULT_LANGUAGE:
        return (AnyOf(LANGUAGE, tuple(others), exclude=True),)
    return (AnyOf(LANGUAGE, (query.language,)),)
