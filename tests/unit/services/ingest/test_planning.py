"""The guards."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefind.errors import GuardStopped
from surefind.services.ingest.planning import check_shrinking

TREE = [f"docs/{section}/{n}.md" for section in ("guide", "api") for n in range(10)] + ["docs/a.md"]


def test_a_fifth_may_go_and_more_may_not() -> None:
    check_shrinking(TREE, TREE[:4])
    with pytest.raises(GuardStopped, match="5 of 21 pages are missing") as stopped:
        check_shrinking(TREE, TREE[:5])
    assert "docs/guide/0.md" in str(stopped.value)
    assert "--allow-shrink" in str(stopped.value)


def test_a_section_may_not_vanish_even_if_it_is_small() -> None:
    tree = [*TREE, "docs/faq/1.md", "docs/faq/2.md"]
    with pytest.raises(GuardStopped, match="section docs/faq is missing entirely"):
        check_shrinking(tree, ["docs/faq/1.md", "docs/faq/2.md"])
    check_shrinking(tree, ["docs/faq/1.md", "docs/guide/1.md"])


def test_one_page_may_always_go() -> None:
    check_shrinking(["docs/a.md", "docs/b.md"], ["docs/a.md"])
    check_shrinking(["docs/faq/a.md", "docs/b.md"], ["docs/faq/a.md"])


@given(st.sets(st.sampled_from(TREE)))
def test_nothing_removed_stops_nothing_and_all_removed_always_does(some: set[str]) -> None:
    check_shrinking(some, [])
    if len(some) > 1:
        with pytest.raises(GuardStopped):
            check_shrinking(some, some)
