"""Keyword search in each language: words analyzed as English, and by their language."""

import argparse

from support.lexical_fixtures import MANUALS, measured


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    print("| language | questions | found, as English | found | MRR, as English | MRR |")
    print("|---|--:|--:|--:|--:|--:|")
    for language, manual in MANUALS.items():
        before, after = measured(manual, "en"), measured(manual, language)
        print(
            f"| {language} | {len(manual.questions)} | {before[0]:.2f} | {after[0]:.2f} "
            f"| {before[1]:.2f} | {after[1]:.2f} |"
        )


if __name__ == "__main__":
    main()
