"""Suggests existing names for a path that does not exist."""

import difflib
from pathlib import Path


def hint_for(missing: Path) -> str:
    """`; did you mean docs/guide.md?`, or nothing if no name in the same folder is similar."""
    try:
        names = [path.name for path in missing.parent.iterdir()]
    except OSError:
        return ""
    near = difflib.get_close_matches(missing.name, names, n=1, cutoff=0.7)
    return f"; did you mean {missing.with_name(near[0])}?" if near else ""
