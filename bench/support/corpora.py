"""The folder of corpora, and how its judged sets are read."""

import json
import os
import sys
from pathlib import Path

DATA = Path(os.environ.get("SUREFIND_DATA", "../shared/data"))


def folder_of(name: str) -> Path:
    folder = DATA / name
    if not folder.is_dir():
        sys.exit(f"{folder} is missing: set SUREFIND_DATA to the folder that holds {name}/")
    return folder


def lines_of(name: str, file: str) -> list[dict[str, str]]:
    with (folder_of(name) / file).open() as stream:
        return [json.loads(line) for line in stream]


def texts_of(name: str, file: str) -> list[str]:
    return [line["text"].strip() for line in lines_of(name, file)]
