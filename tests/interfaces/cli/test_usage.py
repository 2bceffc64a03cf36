"""How commands are called and described: arguments, help texts, completion and usage errors."""

import re
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import typer.main
from typer.core import TyperCommand, TyperGroup, TyperOption

from support.commands import surefind, surefind_json
from support.website.local_site import page, serve
from surefind.interfaces.cli import app


def commands() -> dict[str, TyperCommand]:
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


def examples() -> list[str]:
    """The lines of all help texts, of groups too, that say what to type."""
    pages = [
        app.info.epilog,
        *(
            group.typer_instance.info.epilog
            for group in app.registered_groups
            if group.typer_instance
        ),
        *(command.epilog for command in app.registered_commands),
    ]
    return [
        line.strip()
        for page in pages
        for line in str(page).splitlines()
        if line.startswith("  surefind")
    ]


def test_a_question_needs_no_quotes(ingested: Path) -> None:
    quoted = surefind_json("search", "which voltage does the socket need", "-k", "2", cwd=ingested)
    words = ["which", "voltage", "-k", "2", "does", "the", "socket", "need"]
    plain = surefind_json("search", *words, cwd=ingested)
    assert plain["query"] == quoted["query"] == "which voltage does the socket need"
    assert plain["hits"] == quoted["hits"]
    answer = surefind_json("query", "which", "voltage", cwd=ingested)
    assert answer["query"] == "which voltage"


def test_the_url_of_a_site_can_be_ingested_like_a_folder(tmp_path: Path) -> None:
    with serve() as site:
        site["/"] = page("It brews tea.")
        done = surefind("ingest", f"{site.url}/", "--dry-run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 added" in done.stdout


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("serch x", "unknown command serch; did you mean search or serve?"),
        ("frobnicate", "unknown command frobnicate; `surefind --help` explains the usage"),
        ("search --topk 3 x", "unknown option --topk; did you mean --top-k?"),
        ("search x --top-k many", "--top-k must be 1..1000, not many; `surefind search --help`"),
        ("search x --mode magic", "--mode must be hybrid, dense or lexical, not magic; `surefind"),
        ("search x --top-k", "--top-k needs a value"),
        ("search --json=yes x", "--json takes no value"),
        ("search", "QUESTION is missing; `surefind search --help` explains the usage"),
        ("promote", "--to is missing"),
        ("inspect a b", "unexpected argument: b"),
        ("ingest --max-pages 0", "--max-pages must be an integer of at least 1, not 0"),
        ("golden init --number 0", "--number must be 1..1000, not 0"),
        ("generations frob", "unknown command frob; `surefind generations --help` explains"),
        ("validate nothing.yaml --number x", "--number must be an integer of at least 1, not x"),
        ("search x --collection=a'b --top-k '", "--top-k must be 1..1000, not '"),
    ],
)
def test_misuse_is_one_line_in_the_style_of_all_errors(
    tmp_path: Path, line: str, message: str
) -> None:
    done = surefind(*line.split(), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"surefind: error: {message}")
    assert done.stderr.count("\n") == 1


def test_a_misspelt_key_of_a_file_suggests_the_right_one(tmp_path: Path) -> None:
    (tmp_path / "golden.yaml").write_text("topk: 3\ntests: []\n")
    done = surefind("validate", "golden.yaml", cwd=tmp_path)
    assert "unknown key 'topk' in a golden file; did you mean top_k?" in done.stderr
    (tmp_path / "surefind.toml").write_text('colection = "x"')
    done = surefind("settings", cwd=tmp_path)
    assert "Unknown setting: colection in surefind.toml; did you mean collection?" in done.stderr


@pytest.mark.parametrize("arguments", [(), ("keys",), ("generations",)])
def test_without_a_command_the_help_is_printed(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = surefind(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: surefind")
    assert "Examples:" in done.stderr


def test_help_shows_types_and_ranges_as_people_write_them(tmp_path: Path) -> None:
    help_text = surefind("search", "--help", cwd=tmp_path).stdout
    assert "Usage: surefind search [OPTIONS] QUESTION...\n" in help_text
    for spelling in (
        "-k, --top-k 1..1000 ",
        "--threshold 0..1 ",
        "-c, --collection NAME ",
        "--mode hybrid|dense|lexical ",
        "--data-dir FOLDER ",
    ):
        assert f"  {spelling}" in help_text
    assert "[default: hybrid]" in " ".join(help_text.split())
    assert "Documentation: https://" in help_text


@pytest.mark.parametrize("name", commands())
def test_help_fits_80_columns_and_names_no_python_type(name: str, tmp_path: Path) -> None:
    help_text = surefind(*name.split(), "--help", cwd=tmp_path, COLUMNS="80").stdout
    assert help_text.startswith(f"Usage: surefind {name} ")
    assert max(map(len, help_text.splitlines())) <= 80
    assert not re.search(r"<\w+>|\blist\[|\bNone\b", help_text)


@pytest.mark.parametrize(
    "name", ["", *sorted({name.split()[0] for name in commands() if " " in name})]
)
def test_every_line_of_a_list_of_commands_is_complete(name: str, tmp_path: Path) -> None:
    help_text = surefind(*name.split(), "--help", cwd=tmp_path, COLUMNS="80").stdout
    _, heading, listed = help_text.partition("Commands:")
    assert heading
    assert "..." not in listed


@pytest.mark.parametrize("line", examples())
def test_examples_use_commands_and_options_that_exist(line: str) -> None:
    words = shlex.split(line)[1:]
    name = next(name for name in (" ".join(words[:2]), words[0]) if name in commands())
    known = {
        spelling
        for option in commands()[name].params
        if isinstance(option, TyperOption)
        for spelling in option.opts
    }
    assert {word for word in words if word.startswith("-")} <= known


def test_shells_complete_commands_options_and_collections(ingested: Path) -> None:
    def complete(line: str) -> list[str]:
        environment = {
            "_SUREFIND_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(line.count(" ")),
        }
        return surefind(cwd=ingested, **environment).stdout.split()

    assert complete("surefind se") == ["search", "serve", "settings"]
    assert complete("surefind search --mode ") == ["hybrid", "dense", "lexical"]
    assert complete("surefind search -c ") == ["docs"]
    assert complete("surefind search --data-dir nowhere -c ") == []


def test_the_package_runs_as_a_module(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "surefind", "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"surefind {version('surefind')}\n")
