"""Every error surefind raises on purpose.

SurefindError
├── InputError (ValueError)   the caller can fix it                exit 2, HTTP 400
│   ├── UnknownCollection     no such collection, or never filled  exit 2, HTTP 404
│   ├── UnknownGeneration     no such generation                   exit 2, HTTP 404
│   ├── UnknownChunk          no such chunk                        exit 2, HTTP 404
│   ├── UnknownDocument       no such page                         exit 2, HTTP 404
│   ├── FormatTooNew          a newer surefind wrote the folder    exit 2
│   └── AddressInUse          the port is taken                    exit 2
├── GuardStopped              publishing would lose something      exit 1
├── NotComparable             refuses to compare                   exit 3, HTTP 409
├── Overloaded                too much is asked at once            exit 4, HTTP 503
├── EmbeddingError            the embedding model or service failed  exit 4, HTTP 502
├── RerankingError            the reranking service failed         exit 4, HTTP 502
└── StoreError                a store failed or is unavailable     exit 4, HTTP 503
    ├── StoreBusy             another process is writing           exit 4, HTTP 503
    ├── StoreUnreachable      no answer, or none that helps        exit 4, HTTP 503
    ├── StoreRefused          it won't have the key, or this       exit 4, HTTP 503
    ├── StoreChanged          what was kept is gone, or altered    exit 4, HTTP 503
    ├── StoreFull             the disk has too little room         exit 4, HTTP 503
    └── NothingIngested       a server has nothing to search yet   exit 4, HTTP 503

The message of each names the thing, the reason and the next step, and never a url's password.
"""

import re

_USERINFO = re.compile(
    r"""(://|\b(?i:https?|s?ftp):/)(?:              # a path that was meant as a url has one slash
        [^\s/?#@:"]*:(?!\d*[/?#])[^\s"]{0,1000}@    # a password, whatever is in it; not a port
        |[^\s/?#@"]{0,1000}@                         # a name, or a token in its place
    )""",
    re.VERBOSE,
)
_WITHOUT_SCHEME = re.compile(
    r"""(?<![\w/.:@-])(//)?(?!mailto:)[^\s/?#@:"'=(]{1,200}:[^\s@"'/]{1,200}@(?=\w)"""
)


def without_passwords(text: str) -> str:
    """The text with `…` in place of every user name and password in a url.

    Whatever shows a url goes through here: errors, logs, notes and settings.
    """
    if "@" not in text:
        return text
    return _WITHOUT_SCHEME.sub(r"\1…@", _USERINFO.sub(r"\1…@", text))


class SurefindError(Exception):
    """The root: catching it catches every failure surefind knows about.

    `retry_after_s` is set where it is known when another try makes sense.
    """

    retry_after_s: int | None = None

    def __init__(self, *args: object) -> None:
        super().__init__(*(without_passwords(a) if isinstance(a, str) else a for a in args))


class InputError(SurefindError, ValueError):
    """What the caller gave can't be used as it is."""


class UnknownCollection(InputError):  # noqa: N818 - reads as the answer it is
    pass


class UnknownGeneration(InputError):  # noqa: N818
    pass


class UnknownChunk(InputError):  # noqa: N818
    pass


class UnknownDocument(InputError):  # noqa: N818
    pass


class FormatTooNew(InputError):  # noqa: N818
    pass


class AddressInUse(InputError):  # noqa: N818
    pass


class GuardStopped(SurefindError):  # noqa: N818
    """A guard refused to publish; what readers see has not changed."""


class NotComparable(SurefindError):  # noqa: N818
    """Two runs can't be laid side by side, and the message says why."""


class Overloaded(SurefindError):  # noqa: N818
    retry_after_s = 1


class EmbeddingError(SurefindError):
    pass


class RerankingError(SurefindError):
    pass


class StoreError(SurefindError):
    pass


class StoreBusy(StoreError):  # noqa: N818
    pass


class StoreUnreachable(StoreError):  # noqa: N818
    """The address, the network, time, or the server itself: another try may help."""


class StoreRefused(StoreError):  # noqa: N818
    """The server refused; retrying only helps after something is changed."""


class StoreChanged(StoreError):  # noqa: N818
    """What surefind made is no longer there, or no longer as it was made."""


class StoreFull(StoreError):  # noqa: N818
    """The disk has too little room; what readers see has not changed."""


class NothingIngested(StoreError):  # noqa: N818
    """For clients that name no collection: it is not their mistake that there is none."""
