"""Questions and their passages, from documentation that has no questions.

Pages are read and split by surefind itself, so that passages look as they do in an index. What a
page says about its own sections becomes the question:

    heading      the heading; the passage is without it
    question     a question made from the heading by rules; the passage is without it
    sentence     the first sentence; the passage is without it
    link         the text of a link to the section
    description  the description in the front matter; the passage is the start of the page
    keywords     words that are frequent in the passage and rare elsewhere
    identifier   a name in the code that few other passages contain
"""

import argparse
import asyncio
import json
import math
import multiprocessing
import posixpath
import random
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tokenizers import Tokenizer

from surefind.adapters.embedders.bge_small import WordPieceCounter
from surefind.adapters.sources.filesystem import sources_of
from surefind.adapters.sources.path_patterns import PathPatterns
from surefind.model import LANGUAGE, Chunk, ChunkerSettings, Document, SkippedPage, SourcePage
from surefind.text.chunking import CountTokens, chunk_document
from surefind.text.documents import read_document
from surefind.text.page_kinds import KIND
from training.trees import Tree, trees

_LEFT_OUT = frozenset({"changelog", "index", "test"})
_HEADING_LINE = re.compile(r"(?:#{1,6}[ \t][^\n]*\n+|[^\n]+\n(?:={3,}|-{3,})[ \t]*\n+)+")
_HEADING_ID = re.compile(r"\s*\{[:#][^{}]*\}\s*$")
_FIRST_SENTENCE = re.compile(r"(?=[A-Z`])([^\n#|>*`\-](?:[^\n]|\n(?=\S)){30,300}?[.!?])\s+(?=\S)")
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]\n]|\[[^\[\]\n]*\]){3,120})\]\(([^()\s]+)\)")
_FENCE = re.compile(r"```.*?```", re.DOTALL)
_TARGETS = re.compile(r"\]\([^()\s]*\)")
_MARKUP = re.compile(r"[`*_]{1,3}(?=\S)|(?<=\S)[`*_]{1,3}")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-'][A-Za-z0-9]+)*")
_IDENTIFIER = re.compile(
    r"(?<![\w.\-/])(?:--[a-z][\w-]{2,}|[A-Za-z_]\w*(?:[._:]{1,2}[A-Za-z]\w*)+|[a-z]+[A-Z]\w+"
    r"|[A-Z][a-z]+[A-Z]\w+|[A-Z]{2,}_[A-Z_]+)(?![\w/])"
)
_PAGE_SUFFIX = re.compile(r"(?:\.mdx?|\.html|\.rst)$")
_WORDS = tomllib.loads((Path(__file__).parent / "words.toml").read_text())
_VAGUE_LINKS = frozenset(" ".join(text.split()) for text in _WORDS["vague_links"].split(","))
_STOP = frozenset(_WORDS["stop"].split())
_GERUNDS: dict[str, str] = {
    **{f"{word}ing": word for word in _WORDS["adding_ing"].split()},
    **{f"{word[:-1]}ing": word for word in _WORDS["dropping_e"].split()},
    **_WORDS["irregular"],
}
_VERBS = frozenset(_GERUNDS.values())
_FEWEST_LETTERS = 40
_COMMON = 2  # a heading on more pages than this says nothing without the title
_RARE = 3


@dataclass
class Passage:
    """The parts of a passage, in order. `sentence` is empty if it doesn't start with one."""

    page: str
    context: str
    heading: str
    sentence: str
    rest: str
    title: str = ""
    name: str = ""
    anchor: str = ""

    @property
    def body(self) -> str:
        return f"{self.sentence} {self.rest}"


@dataclass
class TreePairs:
    """A question is its kind, the number of its passage and its text."""

    tree: str
    passages: list[Passage] = field(default_factory=list)
    questions: list[tuple[str, int, str]] = field(default_factory=list)


# --- passages ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Page:
    document: Document
    first: int
    count: int


def pairs_of(tree: Tree, folder: Path, count_tokens: CountTokens) -> TreePairs:
    made = TreePairs(tree.name)
    pages = list(asyncio.run(_read(tree, folder, count_tokens, made)))
    chance = random.Random(tree.name)
    headings = Counter(_plain(one.name) for one in made.passages)
    for number, passage in enumerate(made.passages):
        made.questions += (
            (kind, number, text)
            for kind, text in _from_heading(passage, headings, chance)
            if 3 <= len(text) <= 200
        )
        if passage.sentence and "](" not in passage.sentence:
            made.questions.append(("sentence", number, ""))
    made.questions += _descriptions(pages)
    made.questions += _links(pages, made.passages)
    made.questions += _keywords(made.passages, chance)
    made.questions = sorted(set(made.questions), key=lambda one: (one[1], one[0], one[2]))
    return made


async def _read(
    tree: Tree, folder: Path, count_tokens: CountTokens, made: TreePairs
) -> list[_Page]:
    pages: list[_Page] = []
    for part in tree.folders:
        patterns = PathPatterns(exclude=tree.exclude)
        for source in sources_of([folder / part], tree.name, None, patterns):
            async for page in source.pages():
                if not isinstance(page, SourcePage):
                    continue
                if page.source_path.endswith(".txt") and tree.name != "django+django":
                    continue
                suffix = ".rst" if page.source_path.endswith(".txt") else page.suffix
                typed = SourcePage(page.source_path, page.site_path, page.content, suffix)
                try:
                    read = read_document(typed, source.site)
                except Exception as error:  # noqa: BLE001 - as an ingest, skips what it can't read
                    print(f"{tree.name}: {page.source_path} skipped: {error!r:.200}", flush=True)
                    continue
                if isinstance(read, SkippedPage) or not _is_page(read.document):
                    continue
                document = read.document
                chunks = chunk_document(document, read.structure, ChunkerSettings(), count_tokens)
                first = len(made.passages)
                made.passages += filter(None, (_passage(document, one) for one in chunks))
                pages.append(_Page(document, first, len(made.passages) - first))
    return pages


def _is_page(document: Document) -> bool:
    attributes = document.attributes
    return LANGUAGE not in attributes and attributes.get(KIND) not in _LEFT_OUT


def _passage(document: Document, chunk: Chunk) -> Passage | None:
    text = chunk.text
    match = _HEADING_LINE.match(text + "\n") if chunk.position == 0 or "#" in text[:8] else None
    heading = text[: match.end()] if match else ""
    body = text[len(heading) :].strip()
    if sum(map(str.isalpha, body)) < _FEWEST_LETTERS:
        return None
    first = _FIRST_SENTENCE.match(body)
    sentence = first.group(1) if first else ""
    return Passage(
        chunk.source_path,
        chunk.context,
        heading.strip(),
        sentence,
        body[len(sentence) :].strip(),
        document.title,
        _clean(chunk.heading_path[-1]) if heading else "",
        chunk.anchor,
    )


# --- questions --------------------------------------------------------------------------------


def _from_heading(
    passage: Passage, headings: Counter[str], chance: random.Random
) -> Iterator[tuple[str, str]]:
    name, title = passage.name, _clean(passage.title)
    if not name:
        return
    is_common = headings[_plain(name)] > _COMMON
    with_title = name if _plain(title) in _plain(name) else f"{title} {name}"
    yield "heading", with_title if is_common or chance.random() < 0.3 else name
    asked = _question(name, chance)
    if asked:
        about = f" in {title}" if is_common and name != title else ""
        yield "question", asked + about


def _question(name: str, chance: random.Random) -> str:
    words = name.rstrip(".:!").split()
    first = words[0].lower()
    rest = " ".join(words[1:])
    if name.endswith("?") or len(words) > 10:
        return ""
    if first in _GERUNDS and rest:
        return f"{chance.choice(('how do I', 'how to', 'how can I'))} {_GERUNDS[first]} {rest}"
    if first in _VERBS and rest:
        return f"{chance.choice(('how do I', 'how to', 'how can I'))} {first} {rest}"
    if len(words) <= 4:
        return f"{chance.choice(('what is', 'what is', 'how does', 'explain'))} {name}".replace(
            f"how does {name}", f"how does {name} work"
        )
    return ""


def _descriptions(pages: Sequence[_Page]) -> Iterator[tuple[str, int, str]]:
    for page in pages:
        text = page.document.front_matter.get("description")
        if page.count and isinstance(text, str) and 15 <= len(text) <= 300 and "{" not in text:
            yield "description", page.first, _clean(text)


def _links(pages: Sequence[_Page], passages: Sequence[Passage]) -> Iterator[tuple[str, int, str]]:
    by_path = {_address(page.document.source_path): page for page in pages}
    by_end: dict[str, list[_Page]] = defaultdict(list)
    for path, page in by_path.items():
        by_end["/".join(path.split("/")[-2:])].append(page)
    for page in pages:
        for label, link in _LINK.findall(_FENCE.sub("", page.document.text)):
            text = _clean(label)
            if _plain(text) in _VAGUE_LINKS or not 1 < len(text.split()) <= 15 or "://" in link:
                continue
            address, _, anchor = link.partition("#")
            target = page if not address else _target(address, page, by_path, by_end)
            if target is None or not target.count or (target is page and not anchor):
                continue
            numbers = range(target.first, target.first + target.count)
            at = [n for n in numbers if passages[n].anchor == anchor] if anchor else numbers[:1]
            if at:
                yield "link", at[0], text


def _target(
    address: str, page: _Page, by_path: dict[str, _Page], by_end: dict[str, list[_Page]]
) -> _Page | None:
    beside = posixpath.join(posixpath.dirname(page.document.source_path), address)
    found = by_path.get(_address(posixpath.normpath(beside)))
    if found is None:
        ends = by_end["/".join(_address(address).split("/")[-2:])]
        found = ends[0] if len(ends) == 1 else None
    return found


def _address(path: str) -> str:
    plain = _PAGE_SUFFIX.sub("", path.rstrip("/"))
    return plain.removesuffix("/index").removesuffix("/_index").strip("/")


def _keywords(passages: Sequence[Passage], chance: random.Random) -> Iterator[tuple[str, int, str]]:
    words = [Counter(w.lower() for w in _WORD.findall(_clean(one.body))) for one in passages]
    names = [set(_IDENTIFIER.findall(_TARGETS.sub("]", one.body))) for one in passages]
    spread = Counter(word for counts in words for word in counts)
    rarity = Counter(name for found in names for name in found)
    for number, (counts, found) in enumerate(zip(words, names, strict=True)):
        weighed = {
            word: (1 + math.log(count)) * math.log(len(passages) / spread[word])
            for word, count in counts.items()
            if word not in _STOP and spread[word] > 1 and len(word) > 2
        }
        best = sorted(weighed, key=lambda word: (-weighed[word], word))[:6]
        if len(best) >= 4 and chance.random() < 0.6:
            yield "keywords", number, " ".join(chance.sample(best, chance.choice((2, 3, 3, 4))))
        rare = sorted(name for name in found if rarity[name] <= _RARE and len(name) <= 60)
        if rare and chance.random() < 0.5:
            name = chance.choice(rare)
            more = f" {chance.choice(best)}" if best and chance.random() < 0.4 else ""
            yield "identifier", number, name + more


def _clean(text: str) -> str:
    without = _MARKUP.sub("", _TARGETS.sub("]", _HEADING_ID.sub("", text)))
    return " ".join(without.replace("[", "").replace("]", "").split())


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


# --- all trees --------------------------------------------------------------------------------


def _make(work: tuple[Tree, Path, Path, Path]) -> str:
    tree, folder, tokenizer_file, into = work
    path = into / f"{tree.name}.json"
    if not path.exists():
        tokenizer = Tokenizer.from_file(str(tokenizer_file))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        made = pairs_of(tree, folder, WordPieceCounter(tokenizer).count)
        path.with_suffix(".part").write_text(json.dumps(asdict(made)))
        path.with_suffix(".part").rename(path)
    held = json.loads(path.read_text())
    kinds = Counter(kind for kind, _, _ in held["questions"])
    return f"{tree.name}: {len(held['passages'])} passages, {dict(sorted(kinds.items()))}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("trees", type=Path, help="what training.trees checked out")
    parser.add_argument("into", type=Path)
    parser.add_argument("--tokenizer", type=Path, required=True, help="tokenizer.json")
    parser.add_argument("--only", help="only trees whose names contain this")
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    work = [
        (tree, options.trees / tree.name, options.tokenizer, options.into)
        for tree in trees()
        if (options.only or "") in tree.name
    ]
    work.sort(key=lambda one: -sum(1 for _ in one[1].rglob("*.md*")))
    with multiprocessing.Pool(2) as pool:
        for line in pool.imap_unordered(_make, work):
            print(line, flush=True)


if __name__ == "__main__":
    main()
