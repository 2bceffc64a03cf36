"""`surefind export --llms-txt`: every link of the exported files leads to one of them."""

import posixpath
from pathlib import Path
from urllib.parse import unquote

import pytest

import surefind as library
from support.commands import surefind, surefind_json
from surefind.text.links import markdown_links

PAGES = {
    "index.md": "# Boiler\n\nSee [install](guide/install.md) and [errors](<guide/the errors.md>).",
    "guide/install.md": (
        "---\ndescription: How to install\n---\n# Install\n\nBack to [start](../index.md#boiler), "
        '[the errors](the%20errors.md#e1 "all"), [gone](gone.md), [site](https://example.com).\n\n'
        "`[code](../index.md)` and ![picture](wire.png)\n\n```\n[code](../index.md)\n```\n\n"
        "[ref]: ../index.md\n"
    ),
    "guide/the errors.md": "No title. [up](../index.md)\n\n## E1\n\nThe lid is open.",
}


@pytest.fixture
def boiler(tmp_path: Path) -> Path:
    for name, text in PAGES.items():
        (tmp_path / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / name).write_text(text)
    return tmp_path


def ingest(home: Path, **environment: str) -> None:
    done = surefind("ingest", "docs", cwd=home, **environment)
    assert done.returncode == 0, done.stderr


def missing(folder: Path, root: str = "") -> list[str]:
    """The links of each file that lead to no exported file."""
    found = []
    for path in folder.rglob("*"):
        if path.suffix not in {".md", ".txt"}:
            continue
        for link in markdown_links(path.read_text()):
            target = unquote(link.partition("#")[0])
            base = (
                "" if path.name.startswith("llms") else path.parent.relative_to(folder).as_posix()
            )
            inside = target.removeprefix(root) if root and target.startswith(root) else None
            place = inside or posixpath.normpath(posixpath.join(base, target))
            if not (folder / place).is_file():
                found.append(link)
    return sorted(set(found))


def test_links_are_relative_without_a_published_address(boiler: Path) -> None:
    ingest(boiler)
    done = surefind("export", "--llms-txt", "out", cwd=boiler)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "out: llms.txt, llms-full.txt and 3 pages of docs, generation 1\n"
    assert done.stderr == (
        "surefind: broken   docs/guide/install.md: gone.md: no such page was ingested\n"
    )
    assert missing(boiler / "out") == ["gone.md", "https://example.com", "wire.png"]
    install = (boiler / "out/docs/guide/install.md").read_text()
    assert '[the errors](the%20errors.md#e1 "all")' in install
    assert "`[code](../index.md)` and ![picture](wire.png)" in install
    assert "```\n[code](../index.md)\n```" in install
    errors = (boiler / "out/docs/guide/the errors.md").read_text()
    assert errors.startswith("# E1\n\nNo title. [up](../index.md)")
    index = (boiler / "out/llms.txt").read_text()
    assert "## Guide\n\n- [Install](docs/guide/install.md): How to install\n" in index
    full = (boiler / "out/llms-full.txt").read_text()
    assert "# Install\n\nSource: docs/guide/install.md\n\nBack to [start](docs/index.md#" in full


def test_links_of_a_published_site_are_its_addresses(boiler: Path) -> None:
    site = {"SUREFIND_BASE_URL": "https://docs.example.com/v2"}
    ingest(boiler, **site)
    done = surefind("export", "--llms-txt", "out", cwd=boiler, **site)
    assert done.returncode == 0, done.stderr
    index = (boiler / "out/llms.txt").read_text()
    assert "All pages in one file: https://docs.example.com/v2/llms-full.txt\n" in index
    assert missing(boiler / "out", "https://docs.example.com/v2/") == [
        "https://docs.example.com/v2/guide/gone.md",
        "https://docs.example.com/v2/guide/wire.png",
        "https://example.com",
    ]


def test_existing_files_are_kept_unless_forced(boiler: Path) -> None:
    ingest(boiler)
    before = (boiler / "docs/index.md").read_text()
    (boiler / "docs/llms.txt").write_text("mine")
    refused = surefind("export", "--llms-txt", ".", cwd=boiler)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert ". already has docs/guide/install.md, docs/guide/the errors.md, docs" in refused.stderr
    assert (boiler / "docs/index.md").read_text() == before
    assert not (boiler / "llms.txt").exists()
    surefind_json("export", "--llms-txt", "out", cwd=boiler)
    facts = surefind_json("export", "--llms-txt", "out", "--force", cwd=boiler)
    assert (facts["pages"], facts["left_out"], len(facts["broken_links"])) == (3, [], 1)


def test_the_wrong_arguments_are_explained(boiler: Path) -> None:
    ingest(boiler)
    (boiler / "file").write_text("")
    wrong: dict[tuple[str, ...], str] = {
        (): "name the file to write, or a folder with --llms-txt DIR",
        ("x", "--llms-txt", "out"): "--llms-txt takes neither FILE nor --generation",
        ("--generation", "1", "--llms-txt", "out"): "neither FILE nor --generation",
        ("--llms-txt", "file"): "file is a file; name a folder",
        ("--llms-txt", "out", "-c", "none"): "there is no collection 'none' yet",
    }
    for arguments, reason in wrong.items():
        done = surefind("export", *arguments, cwd=boiler)
        assert (done.returncode, done.stdout) == (2, "")
        assert reason in done.stderr
    (boiler / "guide").write_text("")
    blocked = surefind("export", "--llms-txt", "file/inside", cwd=boiler)
    assert blocked.returncode == 4
    assert "file/inside" in blocked.stderr


def test_only_the_first_broken_links_are_shown(boiler: Path) -> None:
    (boiler / "docs/many.md").write_text("".join(f"[x](no{n}.md)\n\n" for n in range(30)))
    ingest(boiler)
    done = surefind("export", "--llms-txt", "out", cwd=boiler)
    assert done.stderr.count("\n") == 21
    assert "broken   11 more links; --json lists all of them" in done.stderr


def test_a_page_whose_address_is_not_that_of_a_file_is_linked_and_named(tmp_path: Path) -> None:
    pages = [
        library.Page("wiki/odd.md", "# Odd\n\n[x](http://[) [b](b.md)", url="https://x.org/a//b"),
        library.Page("wiki/b.md", "# B\n\n[odd](odd.md)", url="https://x.org/b"),
    ]
    with library.open(data_dir=tmp_path / ".surefind") as docs:
        docs.ingest(pages=pages)
    done = surefind("export", "--llms-txt", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ("surefind: left out  wiki/odd.md: its address can't be that of a file\n")
    index = (tmp_path / "out/llms.txt").read_text()
    assert "- [Odd](https://x.org/a//b)\n" in index
    assert "- [B](https://x.org/b.md)\n" in index
    assert "[odd](https://x.org/a//b)" in (tmp_path / "out/b.md").read_text()
    assert "[x](http://[) [b](https://x.org/b.md)" in (tmp_path / "out/llms-full.txt").read_text()
