"""The documentation is complete: every command, option and setting, and links that work."""

import json
import re
from pathlib import Path

import pytest
import typer.main
import yaml
from typer.core import TyperCommand, TyperGroup

from support.commands import surefind
from support.import_graph import drawings
from surefind.interfaces.cli import app
from surefind.settings import Settings
from surefind.text.slugs import anchor_of

PROJECT = Path(__file__).parents[3]
DOCS = PROJECT / "docs"
HOW_IT_WORKS = DOCS / "how-it-works.md"
PAGES = [*DOCS.rglob("*.md"), *PROJECT.glob("*.md")]


def commands() -> dict[str, TyperCommand]:
    """`generations list` -> its command, for every command that can be run."""
    found: dict[str, TyperCommand] = {}

    def walk(group: TyperGroup, path: tuple[str, ...]) -> None:
        for name, command in group.commands.items():
            if isinstance(command, TyperGroup):
                walk(command, (*path, name))
            elif isinstance(command, TyperCommand):
                found[" ".join((*path, name))] = command

    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    walk(root, ())
    return found


@pytest.mark.parametrize("name", sorted(commands()))
def test_every_command_and_option_is_documented(name: str) -> None:
    page = DOCS / "commands" / f"{name.split(maxsplit=1)[0]}.md"
    assert page.exists(), f"docs/commands has no page for `surefind {name}`"
    text = page.read_text()
    assert f"surefind {name}" in text
    for parameter in commands()[name].params:
        for option in parameter.opts:
            if option.startswith("--") and option != "--help":
                assert option in text, f"{page.name} lacks {option}"


def test_every_setting_is_documented() -> None:
    text = (DOCS / "settings.md").read_text()
    for name, field in Settings.model_fields.items():
        assert str(field.validation_alias or f"SUREFIND_{name.upper()}") in text


def anchors(page: Path) -> set[str]:
    """The fragments of the page's headings."""
    prose = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {anchor_of(re.sub(r"`|\]\(.*?\)|\[", "", title)) for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(PROJECT).as_posix())
def test_links_lead_to_a_page_and_a_heading(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", page.read_text()):
        linked = page.parent / target if target else page
        if "://" not in target:
            assert linked.exists(), f"no page {target}"
        if anchor and linked.suffix == ".md" and "://" not in target:
            assert anchor in anchors(linked), f"no heading {target}#{anchor}"


def test_every_picture_is_shown_on_a_page_and_small() -> None:
    shown = "".join(page.read_text() for page in PAGES)
    pictures = list((DOCS / "images").iterdir())
    assert {"page-wide.png", "box-wide.png", "report.png", "terminal.png"} <= {
        picture.name for picture in pictures
    }
    for picture in pictures:
        assert f"images/{picture.name})" in shown, f"no page shows {picture.name}"
        assert picture.stat().st_size < 150_000, f"{picture.name} is too large"


def test_an_ingest_of_the_documentation_finds_no_broken_links(tmp_path: Path) -> None:
    options = ("--check-links", "--dry-run", "--json")
    summary = json.loads(surefind("ingest", str(DOCS), *options, cwd=tmp_path).stdout)
    assert summary["pages"]["added"] == len(list(DOCS.rglob("*.md")))
    assert summary["broken_links"] == []
    assert summary["warnings"] == []


def test_every_page_is_linked_from_the_index() -> None:
    """Pages of a folder may be listed by that folder's own README."""
    listed = "".join((DOCS / name).read_text() for name in ("index.md", "decisions/README.md"))
    for page in DOCS.rglob("*.md"):
        assert page.name == "index.md" or page.name in listed, f"the index does not link {page}"


@pytest.mark.parametrize("heading", ["How does a page get in?", "How does an answer come out?"])
def test_how_it_works_names_files_that_exist(heading: str) -> None:
    section = HOW_IT_WORKS.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    files = set(re.findall(r"`([a-z0-9_/]+\.py)`", section))
    assert 10 <= len(files) <= 15
    for file in files:
        assert (PROJECT / "src/surefind" / file).exists(), f"no file {file}"


def test_the_import_graph_is_up_to_date() -> None:
    for path, picture in drawings().items():
        assert path.read_text() == picture, "run `make import-graph`"
        assert f"(images/{path.name})" in HOW_IT_WORKS.read_text()


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    listed = (PROJECT / "website/mkdocs.yml").read_text().partition("\nnav:\n")[2]
    for page in DOCS.rglob("*.md"):
        name = page.relative_to(DOCS).as_posix()
        assert f"- {name}\n" in listed, f"add {name} to `nav` in website/mkdocs.yml"


def test_contributing_lists_every_make_target() -> None:
    targets = re.findall(r"^([a-z-]+):.*## ", (PROJECT / "Makefile").read_text(), re.MULTILINE)
    contributing = (PROJECT / "CONTRIBUTING.md").read_text()
    assert len(targets) > 20
    for target in set(targets) - {"help", "install"}:
        assert f"| `make {target}` |" in contributing, f"CONTRIBUTING.md lacks make {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(PROJECT).as_posix())
def test_make_has_every_target_that_a_page_names(page: Path) -> None:
    makefile = (PROJECT / "Makefile").read_text()
    for target in re.findall(r"`make ([a-z-]+[a-z])(?=[` ])", page.read_text()):
        assert f"\n{target}:" in makefile, f"no target {target}"


def test_workflows_run_commands_that_exist() -> None:
    makefile = (PROJECT / "Makefile").read_text()
    for path in (PROJECT / ".github/workflows").glob("*.yml"):
        for job in yaml.safe_load(path.read_text())["jobs"].values():
            for step in job["steps"]:
                for target in re.findall(r"\bmake ([a-z-]+)", step.get("run", "")):
                    assert f"\n{target}:" in makefile, f"{path.name}: no target {target}"


def test_the_list_of_decisions_has_every_title() -> None:
    folder = DOCS / "decisions"
    listed = (folder / "README.md").read_text()
    for page in folder.glob("0*.md"):
        number, _, title = page.read_text().partition("\n")[0].removeprefix("# ").partition(". ")
        assert f"{number}. [{title}]({page.name})" in listed, f"README.md lacks {page.name}"
