"""The examples of docs/integrations.md are short, and print what the page shows."""

import pytest

from documentation.examples import PROJECT, PythonExample, examples
from documentation.pages import refreshed_page
from documentation.scenes import OF_INTEGRATIONS

PAGE = "docs/integrations.md"


@pytest.mark.timeout(600)
def test_the_page_shows_what_its_examples_print() -> None:
    assert set(OF_INTEGRATIONS) == {PAGE}
    text = (PROJECT / PAGE).read_text()
    assert refreshed_page(PAGE) == text, "run `make integrations-outputs`"


def test_every_example_is_a_program_of_less_than_fifteen_lines() -> None:
    programs = [
        one for one in examples((PROJECT / PAGE).read_text(), {}) if isinstance(one, PythonExample)
    ]
    assert len(programs) == 11
    assert max(len(one.body.splitlines()) for one in programs) < 15
    assert all(one.printed for one in programs)
