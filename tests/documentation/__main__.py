"""`make docs-outputs`: writes what the examples print now into the pages."""

import sys

from documentation.examples import PROJECT
from documentation.pages import StaleExampleError, refreshed_page
from documentation.scenes import SCENES


def main() -> int:
    stale = 0
    for name in sys.argv[1:] or SCENES:
        path = PROJECT / name
        before = path.read_text()
        try:
            after = refreshed_page(name)
        except StaleExampleError as error:
            sys.stdout.write(f"{name}: {error}\n")
            stale += 1
            continue
        if after != before:
            path.write_text(after)
        sys.stdout.write(f"{name}: {'up to date' if after == before else 'rewritten'}\n")
    return int(stale > 0)


if __name__ == "__main__":
    sys.exit(main())
