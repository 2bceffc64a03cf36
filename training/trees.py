"""Checks out the documentation trees of sources.toml, each at its commit."""

import argparse
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

_SUFFIXES = frozenset({".md", ".mdx", ".rst", ".txt"})
SOURCES = Path(__file__).parent / "sources.toml"


@dataclass(frozen=True)
class Tree:
    """The documentation of one project. `exclude` are patterns of surefind's `exclude` setting."""

    repository: str
    commit: str
    license: str
    license_file: str
    folders: tuple[str, ...]
    exclude: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.repository.replace("/", "+")


def trees() -> list[Tree]:
    held = tomllib.loads(SOURCES.read_text())["sources"]
    return [
        Tree(
            one["repository"],
            one["commit"],
            one["license"],
            one["license_file"],
            tuple(one["folders"]),
            tuple(one.get("exclude", ())),
        )
        for one in held
    ]


def check_out(tree: Tree, into: Path, mirrors: Path | None) -> None:
    """Only the pages, without pictures; a tree that is there already is kept."""
    target = into / tree.name
    if target.exists():
        return
    repository = _mirrored(tree, mirrors) if mirrors else _cloned(tree, into / ".git" / tree.name)
    partial = target.with_suffix(".part")
    for path in _pages(repository, tree):
        try:
            content = _git(repository, "cat-file", "blob", f"{tree.commit}:{path}")
        except subprocess.CalledProcessError:
            print(f"{tree.name}: {path} is not in this copy of the repository; skipped")
            continue
        page = partial / path
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_bytes(content)
    partial.rename(target)


def _pages(repository: Path, tree: Tree) -> list[str]:
    """Django writes reStructuredText in .txt; elsewhere these are rarely pages."""
    listed = _git(repository, "ls-tree", "-r", "-z", tree.commit, "--", *tree.folders).decode()
    regular = [line.split("\t", 1) for line in listed.split("\0") if line.startswith("100")]
    found = [path for _, path in regular if Path(path).suffix in _SUFFIXES]
    return [tree.license_file, *found]


def _mirrored(tree: Tree, mirrors: Path) -> Path:
    folder = mirrors / tree.name / "repo"
    return folder / ".git" if (folder / ".git").exists() else folder


def _cloned(tree: Tree, folder: Path) -> Path:
    if not folder.exists():
        address = f"https://github.com/{tree.repository}"
        subprocess.run(["git", "init", "--quiet", "--bare", str(folder)], check=True)
        _git(folder, "fetch", "--quiet", "--depth=1", address, tree.commit)
    return folder


def _git(folder: Path, *arguments: str) -> bytes:
    command = ["git", "--git-dir", str(folder), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("into", type=Path)
    parser.add_argument("--mirrors", type=Path, help="a folder with OWNER+NAME/repo git folders")
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    for tree in trees():
        check_out(tree, options.into, options.mirrors)
        print(tree.name, flush=True)


if __name__ == "__main__":
    main()
