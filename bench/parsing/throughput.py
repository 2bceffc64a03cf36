"""How fast pages are read and chunked, beside what others use for it.

The pages of docs-sample, copied under several prefixes, go through surefind and through each peer:
one process each, one thread, the same files, in turn, several rounds. Peers live in an environment
of their own (bench/peers/parsing.txt). Nothing is embedded or stored.

surefind's chunks are limited in tokens of the embedding model, so a peer is measured twice: with
the same tokenizer, and in characters, which is the default of most.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from bench.parsing.large_tree import plant
from bench.support.folders import ENVIRONMENTS, RESULTS
from surefind.adapters.embedders.model_files import TOKENIZER, locate
from surefind.settings import load

PEERS = ENVIRONMENTS / "parsing" / "bin" / "python"
ONE_THREAD = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
NOTE = """\
Pages a second are the median of the rounds, by processor time, so that other programs at work
count less; "beside surefind" divides them by surefind's in the same kind of length. LangChain is
MarkdownHeaderTextSplitter and RecursiveCharacterTextSplitter; LlamaIndex is MarkdownNodeParser and
SentenceSplitter, which by default counts tiktoken's tokens; chonkie is RecursiveChunker with rules
for Markdown, in part Rust; semantic-text-splitter is MarkdownSplitter, all Rust.

surefind takes off front matter (and reads it), MDX and comments, gives each page an address and
each chunk its id, anchor, heading path and hash, and keeps tables, lists and code whole where they
fit. LangChain and LlamaIndex give a heading path, chonkie offsets; none of the peers reads front
matter or MDX, or knows addresses, anchors or ids. Later copies repeat the words of the first, which
helps who remembers them, as surefind does: "first copy" is the first one alone, in a process that
has met none of its words."""


@dataclass
class Contender:
    name: str
    length: str
    command: list[str]
    rounds: list[dict[str, float]] = field(default_factory=list)

    def run(self) -> None:
        done = subprocess.run(
            self.command,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            timeout=900,
            env=os.environ | ONE_THREAD,
        )
        self.rounds.append(json.loads(done.stdout.splitlines()[-1]))

    @property
    def speeds(self) -> list[float]:
        return sorted(round_["pages"] / round_["seconds"] for round_ in self.rounds)

    def row(self, reference: "Contender") -> dict[str, object]:
        speed = statistics.median(self.speeds)
        last = self.rounds[-1]
        return {
            "who": self.name,
            "length": self.length,
            "pages/s": round(speed, 1),
            "slowest": round(self.speeds[0], 1),
            "fastest": round(self.speeds[-1], 1),
            "MB/s": round(speed * last["bytes"] / last["pages"] / 1e6, 2),
            "chunks": last["chunks"],
            "wall_seconds": [round(round_["wall_seconds"], 2) for round_ in self.rounds],
            "beside": round(speed / statistics.median(reference.speeds), 2),
        }


def contenders(tree: Path, tokenizer: Path) -> list[Contender]:
    def ours(name: str, length: str, way: str, folder: Path = tree) -> Contender:
        module = "bench.parsing.split_with_surefind"
        return Contender(name, length, [sys.executable, "-m", module, way, str(folder)])

    def peer(name: str, peer: str, length: str, shown: str | None = None) -> Contender:
        command = [str(PEERS), "-m", "bench.parsing.split_with_peers", peer, length, str(tree)]
        return Contender(name, shown or length, [*command, str(tokenizer)])

    return [
        ours("surefind", "tokens", "tokens"),
        ours("surefind, first copy", "tokens", "tokens", tree / "copy-1"),
        ours("surefind, as plain Markdown", "tokens", "markdown"),
        peer("LangChain", "langchain", "tokens"),
        peer("LlamaIndex", "llamaindex", "tokens"),
        peer("LlamaIndex, default", "llamaindex", "characters", "tiktoken's tokens"),
        peer("chonkie", "chonkie", "tokens"),
        peer("semantic-text-splitter", "semantic-text-splitter", "tokens"),
        ours("surefind, as plain Markdown", "characters", "characters"),
        peer("LangChain", "langchain", "characters"),
        peer(
            "LlamaIndex, sections alone",
            "llamaindex-sections",
            "characters",
            "characters: no limit",
        ),
        peer("chonkie", "chonkie", "characters"),
        peer("semantic-text-splitter", "semantic-text-splitter", "characters"),
        ours("counting", "tokens", "counting"),
    ]


def table(rows: list[dict[str, object]]) -> str:
    names = ("who", "length", "pages/s", "slowest to fastest", "MB/s", "chunks", "beside surefind")
    lines = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    lines += [
        f"| {row['who']} | {row['length']} | {row['pages/s']:.0f} | {row['slowest']:.0f} to "
        f"{row['fastest']:.0f} | {row['MB/s']:.2f} | {row['chunks']} | {row['beside']:.2f} |"
        for row in rows
    ]
    return "\n".join(lines)


def versions() -> dict[str, str]:
    listed = subprocess.run(
        [str(PEERS), "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"],
        check=True,
        capture_output=True,
        timeout=60,
    )
    wanted = {"chonkie", "langchain-text-splitters", "llama-index-core", "semantic-text-splitter"}
    found = {package["name"]: package["version"] for package in json.loads(listed.stdout)}
    return {"python": sys.version.split()[0]} | {
        name: version for name, version in found.items() if name in wanted | {"tokenizers"}
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--copies", type=int, default=7, help="of docs-sample's 239 pages")
    arguments = parser.parse_args()
    tokenizer = locate(None, load().cache_dir, print) / TOKENIZER.name
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "pages"
        plant(tree, arguments.copies)
        field_ = contenders(tree, tokenizer)
        for number in range(arguments.rounds):
            for contender in field_:
                contender.run()
                speed = contender.rounds[-1]["pages"] / contender.rounds[-1]["seconds"]
                said = f"{contender.name}, {contender.length}: {speed:.0f} pages/s"
                print(f"round {number + 1}: {said}", file=sys.stderr, flush=True)
    counting = field_.pop()
    share = statistics.median(
        round_["counting_seconds"] / round_["seconds"] for round_ in counting.rounds
    )
    references = {"characters": field_[8]}
    rows = [
        contender.row(references.get(contender.length.split(":")[0], field_[0]))
        for contender in field_
    ]
    shown = f"{table(rows)}\n\nOf surefind's time, {share:.0%} is counting tokens.\n\n{NOTE}\n"
    print(shown)
    RESULTS.mkdir(exist_ok=True)
    written = {
        "versions": versions(),
        "cores": os.cpu_count(),
        "rounds": arguments.rounds,
        "counting_share": share,
        "rows": rows,
    }
    (RESULTS / "parsing.json").write_text(json.dumps(written, indent=2) + "\n")
    (RESULTS / "parsing.md").write_text(shown)


if __name__ == "__main__":
    main()
