"""Pages made to be slow: seconds of processor time for n, 2n and 4n characters, and the growth."""

import argparse
import time
from collections.abc import Callable
from contextlib import suppress

from surefind.errors import InputError
from surefind.model import ChunkerSettings, Document
from surefind.text.chunking import chunk_document
from surefind.text.formats.registry import parse

SIZE = 20_000
SIGNS = {
    ".md": (
        *(
            "[",
            "](",
            "`",
            "``` ",
            "<!--",
            "> ",
            "- ",
            "## a {# ",
            "a|b\n-|",
            "&",
            "&lt;",
            "*a ",
            "\\",
        ),
        *("<b>", "<p\n", "<table>", "<td>", "<a x='", "<pre>", "---\n", "\u3002"),
    ),
    ".mdx": ("{//", "{", "{`", "<a ", "<T>", "</T>", "import {", ":::note\n", "```a", "{/*"),
    ".html": ("<div>", "<ul><li>", "<table><tr><td>", "<a>", "<pre>", "<!--", "&amp;", "<h1>`"),
    ".rst": (":a:`", ":a:` ", "`a`", "{a", "(\n", ".. a::\n", "|a|", "*a ", "=\n", "a_ "),
    ".txt": ("a", " ", "\n", "\t"),
}
FORMS: dict[str, Callable[[str, int], str]] = {
    "repeated": lambda sign, size: sign * (size // len(sign)),
    "on lines": lambda sign, size: f"{sign}\n" * (size // (len(sign) + 1)),
    "then blanks": lambda sign, size: sign + " " * size + "x",
    "then a word": lambda sign, size: sign + "a" * size,
    "wide table": lambda sign, size: (
        f"{'|a' * (size // 8)}|\n{'|-' * (size // 8)}|\n" + f"|{sign}|\n" * (size // 8)
    ),
}


def seconds(text: str, suffix: str) -> float:
    began = time.process_time()
    with suppress(InputError):  # refused, with a reason, is an answer too
        page = parse(text.encode(), suffix)
        document = Document("a", "", "a", "a", page.text, "")
        chunk_document(document, page.structure, ChunkerSettings(), lambda words: len(words) // 4)
    return time.process_time() - began


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    for suffix, signs in SIGNS.items():
        for sign in signs:
            for name, form in FORMS.items():
                taken = [seconds(form(sign, SIZE * factor), suffix) for factor in (1, 2, 4)]
                growth = taken[2] / max(taken[0], 0.001)
                row = "  ".join(f"{one:8.3f}" for one in taken)
                print(f"{suffix:6} {sign!r:22} {name:12} {row}  x{growth:.1f}")


if __name__ == "__main__":
    main()
