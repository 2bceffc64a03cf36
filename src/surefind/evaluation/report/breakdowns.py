"""Groups the tests of a run by their length, and by the folder, version and locale of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from surefind.evaluation.golden.expectations import (
    ByAddress,
    BySource,
    Expectation,
    address_key,
)
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest
from surefind.evaluation.golden.resolution import PagePlace, Places

FEWEST_TESTS = 10
MOST_GROUPS = 20
SEVERAL = "several"
OTHERS = "others"
_LENGTHS = ((3, "1 to 3 words"), (7, "4 to 7 words"), (15, "8 to 15 words"))
_LONG = "16 words or more"
_FOLDER_STEPS = 3


def groups_of(golden: GoldenSet, places: Places) -> Iterator[tuple[str, Mapping[str, str]]]:
    """(what they are grouped by, group by test id), where there is more than one group.

    Runs of fewer than FEWEST_TESTS tests are not grouped, because groups of one say nothing.
    """
    if len(golden.tests) < FEWEST_TESTS:
        return
    known = {
        "folder": {one.test_id: _folder(one, places) for one in golden.tests},
        "version": {one.test_id: _shared(one, places, "version") for one in golden.tests},
        "locale": {one.test_id: _shared(one, places, "locale") for one in golden.tests},
        "question length": {one.test_id: _length(one.query_text) for one in golden.tests},
    }
    for by, groups in known.items():
        named = _limited({test: group for test, group in groups.items() if group})
        if len(set(named.values())) > 1:
            yield by, named


def _limited(groups: Mapping[str, str]) -> dict[str, str]:
    """The largest groups; the others together."""
    counted = Counter(groups.values())
    if len(counted) <= MOST_GROUPS:
        return dict(groups)
    kept = {name for name, _ in counted.most_common(MOST_GROUPS - 1)}
    return {test: group if group in kept else OTHERS for test, group in groups.items()}


def _length(question: str) -> str:
    words = len(question.split())
    return next((name for most, name in _LENGTHS if words <= most), _LONG)


def _folder(test: GoldenTest, places: Places) -> str:
    return _one_of([_folder_of(one, places) for one in test.expected])


def _folder_of(expectation: Expectation, places: Places) -> str:
    place = places.get(expectation)
    if place is not None:
        path = place.source_path
    elif isinstance(expectation, BySource):
        path = expectation.source_path
    elif isinstance(expectation, ByAddress):
        path = address_key(expectation.url, path_only=True)
    else:
        return ""
    return "/".join(PurePosixPath(path.strip("/")).parts[:-1][:_FOLDER_STEPS]) or "/"


def _shared(test: GoldenTest, places: Places, name: str) -> str:
    known = [place for one in test.expected if (place := places.get(one)) is not None]
    return _one_of([_value(place, name) for place in known])


def _value(place: PagePlace, name: str) -> str:
    return place.version if name == "version" else place.locale


def _one_of(names: Sequence[str]) -> str:
    found = {name for name in names if name}
    return SEVERAL if len(found) > 1 else next(iter(found), "")
