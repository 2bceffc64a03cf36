"""The documentation knows every command, option, setting and error there is."""

import re
from pathlib import Path

import pytest
import typer.main
from typer.core import TyperCommand, TyperGroup

from surefind.interfaces.cli import app
from surefind.settings import Settings

DOCS = Path(__file__).parents[3] / "docs"


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
                assert option in text, f"{page.name} says nothing of {option}"


def test_every_setting_is_documented() -> None:
    text = (DOCS / "settings.md").read_text()
    for name, field in Settings.model_fields.items():
        assert str(field.validation_alias or f"SUREFIND_{name.upper()}") in text


def test_links_between_the_pages_lead_somewhere() -> None:
    project = DOCS.parent
    for page in [*DOCS.rglob("*.md"), *project.glob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.relative_to(project)}: {target}"
