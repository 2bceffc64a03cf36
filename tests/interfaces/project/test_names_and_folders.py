"""A name has one meaning in the package, and a folder is small enough to read at a glance."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[3] / "src/surefind"
FILES = sorted(PACKAGE.rglob("*.py"))
MOST_ENTRIES = 12

SHARED_CLASS_NAMES = {
    "RetrievalResult": "two published formats give this name to different shapes",
    "SurefindRetriever": "LangChain, LlamaIndex and Haystack each have a retriever of this name",
    "SearchResult": "the published retrieval API gives this name to one hit",
}
# Files may share a name if they are the same subject in different rooms.
SHARED_FILE_NAMES = {
    "addresses.py": "how a site addresses its pages: shared rules, and those of a generator",
    "anchors.py": "the anchors of headings: shared rules, and those of Hugo",
    "audit.py": "the audit and its command",
    "catalog.py": "the catalog: its port, its stores, its command and its routes",
    "config.py": "the configuration of a site generator",
    "connect.py": "connecting a collection and its command",
    "documents.py": "documents: the types, and how they are made",
    "collections.py": "the collections of an installation: their commands and their routes",
    "drift.py": "drift of what users find: the service and the command",
    "errors.py": "errors: the tree, and how PostgreSQL's and HTTP's map to it",
    "extra_checks.py": "the extra checks of a validation and their report",
    "filters.py": "filters: the types, and how a search and a connected collection apply them",
    "gaps.py": "the gaps that a query log shows: the service, the command and the JSON",
    "generations.py": "generations: the types, the stores, the service, the commands, the JSON",
    "index_recall.py": "the recall of the index: its measure and its service",
    "ingest.py": "an ingest, its command and its JSON",
    "inspect.py": "inspecting a page and its command",
    "keys.py": "API keys: the type, the port, the service and the command",
    "label_free.py": "tests without labels: how they are made, and their options of the command",
    "links.py": "links: those of a page's text, and those to pages without an address",
    "lint.py": "the lint of golden sets and its report",
    "llms_txt.py": "llms.txt: its text and its routes",
    "past_runs.py": "past runs of a validation: their series, their command and their report",
    "query_log.py": "the query log: its entries, its file, and what writes to it",
    "settings.py": "the settings: their class and their command",
    "search.py": "a search, its command and its JSON",
    "targets.py": "targets: the types, the port, their wiring and their part of the command",
    "power.py": "how many questions are needed: the statistics and the command",
    "side_by_side.py": "a comparison of targets: its values, its texts and its page",
    "searching.py": "the types of a search and its wiring",
    "stores.py": "stores of index and catalog: how they are chosen, and those of a connection",
    "summary.py": "the summary of a report and its HTML",
    "transfer.py": "the transfer of a generation, its wiring and its command",
    "validate.py": "a validation and its command",
    "vector_stores.py": "collections as vector stores: their JSON and their routes",
    "validation.py": "the published validation formats and the wiring of a validation",
}


def test_no_two_classes_have_one_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(file.relative_to(PACKAGE).as_posix())
    assert repeated(places) == sorted(SHARED_CLASS_NAMES)


def test_files_share_a_name_only_if_they_share_a_subject() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for file in FILES:
        if file.name != "__init__.py":
            places[file.name].append(file.relative_to(PACKAGE).as_posix())
    assert repeated(places) == sorted(SHARED_FILE_NAMES)


def test_folders_are_small() -> None:
    for folder in packages():
        assert len(list(entries(folder))) <= MOST_ENTRIES, f"{folder} has too many entries"
    for folder in (path for path in (PACKAGE / "interfaces/web").rglob("*") if path.is_dir()):
        assert len(list(folder.iterdir())) <= MOST_ENTRIES, f"{folder} has too many entries"


def repeated(places: dict[str, list[str]]) -> list[str]:
    return sorted(name for name, found in places.items() if len(found) > 1)


def packages() -> Iterator[Path]:
    return (file.parent for file in FILES if file.name == "__init__.py")


def entries(folder: Path) -> Iterator[Path]:
    """Modules and subpackages; no `__init__.py`, no page assets, no SQL."""
    for path in folder.iterdir():
        if (path.suffix == ".py" and path.stem[:2] != "__") or (path / "__init__.py").exists():
            yield path
