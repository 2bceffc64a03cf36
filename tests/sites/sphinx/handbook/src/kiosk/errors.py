"""What can go wrong.

Each error names the *printer*.
"""


class KioskError(Exception):
    """The parent of all errors."""


class PaperError(KioskError):
    pass


def _hidden() -> None:
    """Not shown."""
