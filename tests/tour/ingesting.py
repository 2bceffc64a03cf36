"""Chapter 1: the pages go in."""

import json
import shutil

from tour.tour import Tour

MOST_MEGABYTES = 10
"""For a data folder of a few pages; files without their real size had 560."""


def ingest(tour: Tour) -> None:
    first = tour.run("ingest", "handbook")
    tour.expect("the summary says what was added", "7 added" in first.stdout, first.stdout)
    tour.expect("no page failed", "failed" not in first.stdout, first.stdout)
    again = tour.run("ingest", "handbook")
    tour.expect("a second run changes nothing", "nothing changed" in again.stdout, again.stdout)
    links = tour.run("ingest", "handbook", "--check-links", "--dry-run")
    tour.expect("no link is broken", "none broken" in links.stdout, links.stdout)
    size = sum(path.stat().st_size for path in (tour.home / ".surefind").rglob("*"))
    tour.expect(
        f"the data folder is no larger than {MOST_MEGABYTES} MB for tar, cp and docker",
        size < MOST_MEGABYTES * 1e6,
        f"{size / 1e6:.0f} MB",
    )


def one_page_does_not_replace_all(tour: Tour) -> None:
    tour.run("ingest", "handbook/reference/errors.md", expecting=1)
    count = tour.run("chunks", "count")
    tour.expect("all passages are still there", not count.stdout.startswith("3 "), count.stdout)


def pages_can_be_left_out(tour: Tour) -> None:
    home = tour.home / "excluded"
    home.mkdir()
    shutil.copytree(tour.home / "handbook", home / "handbook")
    options = ("--exclude", "CHANGELOG.md", "--data-dir", home / "data", "--json")
    done = tour.run("ingest", home / "handbook", *options)
    added = json.loads(done.stdout)["added_pages"] if done.returncode == 0 else []
    tour.expect(
        "--exclude leaves the changelog out",
        added and not any("CHANGELOG" in page for page in added),
        added,
    )
