"""Every output in the documentation is what the command or program prints."""

import pytest

from documentation.examples import PAGES, PROJECT, examples
from documentation.outputs import refreshed
from documentation.pages import is_runnable, refreshed_page
from documentation.scenes import NOT_RUN, OF_INTEGRATIONS, SCENES

NAMES = {path.relative_to(PROJECT).as_posix(): path for path in PAGES}


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", SCENES)
def test_the_page_shows_what_its_examples_print(name: str) -> None:
    assert refreshed_page(name) == (PROJECT / name).read_text(), "run `make docs-outputs`"


def test_every_page_with_examples_is_run_or_says_what_it_needs() -> None:
    with_examples = {
        name
        for name, path in NAMES.items()
        if any(is_runnable(one) for one in examples(path.read_text(), {}))
    }
    assert with_examples == SCENES.keys() | NOT_RUN.keys() | OF_INTEGRATIONS.keys()
    assert not SCENES.keys() & NOT_RUN.keys()


@pytest.mark.parametrize("name", SCENES)
def test_scenes_name_headings_and_blocks_that_exist(name: str) -> None:
    scene = SCENES[name]
    found = list(examples(NAMES[name].read_text(), scene.implied))
    assert scene.before.keys() <= {one.heading for one in found}
    assert set(scene.implied.values()) == {one.implied for one in found} - {None}


SHOWN = "docs: generation 1 published in 0.8 s\n  score 0.916, similarity 0.629\n"


def test_times_dates_and_the_last_digits_of_scores_may_differ() -> None:
    assert refreshed(SHOWN, SHOWN.replace("0.8 s", "12.1 s").replace("0.629", "0.631")) == SHOWN


@pytest.mark.parametrize(
    "printed",
    [
        SHOWN.replace("0.916", "0.930"),
        SHOWN.replace("generation 1", "generation 2"),
        SHOWN.replace("published", "held back"),
        SHOWN + "more\n",
    ],
)
def test_anything_else_is_replaced_by_what_was_printed(printed: str) -> None:
    assert refreshed(SHOWN, printed) == printed


def test_what_a_page_leaves_out_stays_left_out_and_its_numbers_are_updated() -> None:
    shown = '{"hits": [{"rank": 1, …, "score": 0.930}], …}\n'
    printed = '{"hits": [{"rank": 1, "id": "a", "score": 0.916}], "total": 1}\n'
    assert refreshed(shown, printed) == '{"hits": [{"rank": 1, …, "score": 0.916}], …}\n'


def test_a_shortened_output_that_was_not_printed_is_an_error() -> None:
    with pytest.raises(ValueError, match="shown:"):
        refreshed("found …, twice\n", "found nothing\n")


def test_keys_are_never_written_into_a_page() -> None:
    printed = f"created 1f0c52d7\nsurefind_1f0c52d7_{'pJ5-' * 11}\n"
    assert refreshed("", printed) == "created 1f0c52d7\nsurefind_1f0c52d7_…\n"
    shown = "created 00000000\nsurefind_00000000_abc…\n"
    assert refreshed(shown, printed) == shown
