"""One peer splits every page below a folder, and says how long it took.

It runs in an environment of its own (bench/peers/parsing.txt), one peer and one way of measuring
length a process: `parsing_peers.py PEER characters|tokens FOLDER TOKENIZER`. What is timed is what
a user of the peer writes in a loop: read the file, split it. Importing and making the splitter is
not.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tokenizers import Tokenizer

CHARACTERS = 1999
TOKENS = 400
Split = Callable[[str], Sequence[object]]


def langchain(tokenizer: Tokenizer | None) -> Split:
    from langchain_text_splitters import MarkdownHeaderTextSplitter, RecursiveCharacterTextSplitter

    levels = [("#" * level, f"h{level}") for level in range(1, 7)]
    headers = MarkdownHeaderTextSplitter(levels, strip_headers=False)
    if tokenizer is None:
        pieces = RecursiveCharacterTextSplitter(chunk_size=CHARACTERS, chunk_overlap=0)
    else:
        # The bare tokenizer: `from_huggingface_tokenizer` asks transformers, which is slower.
        pieces = RecursiveCharacterTextSplitter(
            chunk_size=TOKENS,
            chunk_overlap=0,
            length_function=lambda text: len(tokenizer.encode(text, add_special_tokens=False)),
        )
    return lambda text: pieces.split_documents(headers.split_text(text))


def llamaindex(tokenizer: Tokenizer | None) -> Split:
    from llama_index.core import Document
    from llama_index.core.node_parser import MarkdownNodeParser, SentenceSplitter

    sections = MarkdownNodeParser()
    if tokenizer is None:  # its own default counts tokens too: those of tiktoken
        sentences = SentenceSplitter(chunk_size=TOKENS, chunk_overlap=0)
    else:
        sentences = SentenceSplitter(
            chunk_size=TOKENS,
            chunk_overlap=0,
            tokenizer=lambda text: tokenizer.encode(text, add_special_tokens=False).ids,
        )
    return lambda text: sentences(sections([Document(text=text)]))


def llamaindex_sections(_: Tokenizer | None) -> Split:
    from llama_index.core import Document
    from llama_index.core.node_parser import MarkdownNodeParser

    sections = MarkdownNodeParser()
    return lambda text: sections([Document(text=text)])


def chonkie(tokenizer: Tokenizer | None) -> Split:
    from chonkie import RecursiveChunker, RecursiveLevel, RecursiveRules

    # Its Markdown recipe is on a hub. This one is similar and needs no network.
    rules = RecursiveRules(
        levels=[
            RecursiveLevel(
                delimiters=[f"\n{'#' * level} " for level in range(1, 7)], include_delim="next"
            ),
            RecursiveLevel(delimiters=["\n\n", "\n"]),
            RecursiveLevel(delimiters=[". ", "! ", "? "]),
            RecursiveLevel(whitespace=True),
            RecursiveLevel(),
        ]
    )
    if tokenizer is None:
        chunker = RecursiveChunker("character", chunk_size=CHARACTERS, rules=rules)
    else:
        chunker = RecursiveChunker(tokenizer, chunk_size=TOKENS, rules=rules)
    chunk: Split = chunker.chunk
    return chunk


def semantic_text_splitter(tokenizer: Tokenizer | None) -> Split:
    from semantic_text_splitter import MarkdownSplitter

    if tokenizer is None:
        splitter = MarkdownSplitter(CHARACTERS)
    else:
        splitter = MarkdownSplitter.from_huggingface_tokenizer_str(tokenizer.to_str(), TOKENS)
    chunks: Split = splitter.chunks
    return chunks


PEERS: dict[str, Callable[[Tokenizer | None], Split]] = {
    "chonkie": chonkie,
    "langchain": langchain,
    "llamaindex": llamaindex,
    "llamaindex-sections": llamaindex_sections,
    "semantic-text-splitter": semantic_text_splitter,
}


def main() -> None:
    name, length, folder, model = sys.argv[1:]
    tokenizer: Tokenizer | None = None
    if length == "tokens":
        tokenizer = Tokenizer.from_file(model)
        tokenizer.no_padding()
        tokenizer.no_truncation()
    split = PEERS[name](tokenizer)
    split("# Warm\n\nwords")
    pages = size = chunks = 0
    began, worked = time.perf_counter(), time.process_time()
    for path in sorted(Path(folder).rglob("*.md*")):
        content = path.read_bytes()
        chunks += len(split(content.decode()))
        pages += 1
        size += len(content)
    spent = {
        "seconds": time.process_time() - worked,
        "wall_seconds": time.perf_counter() - began,
    }
    print(json.dumps({"pages": pages, "bytes": size, "chunks": chunks, **spent}))


if __name__ == "__main__":
    main()
