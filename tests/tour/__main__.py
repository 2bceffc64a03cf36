"""`python -m tour`: the first hour with surefind, from an empty folder, as `make tour` runs it.

Prints what was expected, takes pictures, and exits with 1 if an expectation is not met.
"""

import argparse
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tour import dotenv, ingesting, looking, measuring, searching, typing_mistakes
from tour.tour import HANDBOOK, Tour

CHAPTERS: tuple[Callable[[Tour], None], ...] = (
    ingesting.ingest,
    ingesting.one_page_does_not_replace_all,
    ingesting.pages_can_be_left_out,
    searching.ask_ten_questions,
    searching.every_heading_finds_its_section,
    searching.release_notes_do_not_win,
    searching.confidence_separates_answers_from_misses,
    searching.hits_lead_to_a_file_and_line,
    searching.a_missing_passage_is_explained,
    measuring.write_golden_tests,
    measuring.validate,
    measuring.a_failed_run_says_so_first,
    dotenv.a_foreign_dotenv_breaks_nothing,
    dotenv.a_broken_dotenv_is_named,
    typing_mistakes.mistakes_are_explained,
    typing_mistakes.a_question_needs_no_quotes,
)
VIEWS: tuple[Callable[[looking.Viewer], None], ...] = (
    looking.look_at_the_page,
    looking.look_at_the_reader,
    looking.look_at_the_box,
    looking.look_at_the_report,
    looking.look_at_the_terminal,
)


def take(home: Path, pictures: Path) -> Sequence[str]:
    """The expectations that are not met, after the whole tour."""
    shutil.copytree(HANDBOOK, home / "handbook")
    pictures.mkdir(parents=True, exist_ok=True)
    tour = Tour(home, pictures)
    for chapter in CHAPTERS:
        _announce(chapter)
        chapter(tour)
    with looking.looking(tour) as viewer:
        for view in VIEWS:
            _announce(view)
            view(viewer)
    return tour.unmet


def main() -> int:
    parser = argparse.ArgumentParser(prog="make tour", description=__doc__)
    parser.add_argument("--pictures", type=Path, required=True, help="the folder for the pictures")
    options = parser.parse_args()
    with TemporaryDirectory() as home:
        unmet = take(Path(home), options.pictures.resolve())
    sys.stdout.write(f"\n{len(unmet)} expectations are not met\n")
    sys.stdout.write("".join(f"  {expectation}\n" for expectation in unmet))
    return int(bool(unmet))


def _announce(part: Callable[..., None]) -> None:
    sys.stdout.write(f"\n{part.__name__.replace('_', ' ').capitalize()}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
