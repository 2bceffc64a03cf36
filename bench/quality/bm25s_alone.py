"""bm25s alone, as its documentation sets it up for English; run by bench/quality/judged.py."""

import json
import sys

import bm25s
import Stemmer


def main() -> None:
    work = json.load(sys.stdin)
    stemmer = Stemmer.Stemmer("english")
    retriever = bm25s.BM25(k1=1.2, b=0.75)
    retriever.index(
        bm25s.tokenize(work["texts"], stopwords="en", stemmer=stemmer, show_progress=False),
        show_progress=False,
    )
    queries = bm25s.tokenize(work["queries"], stopwords="en", stemmer=stemmer, show_progress=False)
    depth = min(work["depth"], len(work["ids"]))
    found, _ = retriever.retrieve(queries, k=depth, show_progress=False)
    json.dump([[work["ids"][at] for at in row] for row in found.tolist()], sys.stdout)


if __name__ == "__main__":
    main()
