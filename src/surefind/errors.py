"""Every error surefind raises on purpose.

SurefindError
├── InputError (ValueError)   the caller can fix it                exit 2, HTTP 400
│   ├── UnknownCollection     no such collection, or never filled  exit 2, HTTP 404
│   ├── UnknownGeneration     no such generation                   exit 2, HTTP 404
│   ├── UnknownChunk          no such chunk                        exit 2, HTTP 404
│   ├── UnknownDocument       no such page                         exit 2, HTTP 404
│   ├── FormatTooNew          a newer surefind wrote the folder    exit 2
│   ├── VersionMismatch       client and server are incompatible   exit 2
│   └── AddressInUse          the port is taken                    exit 2
├── GuardStopped              a guard refused to publish           exit 1
├── NotComparable             two runs can't be compared           exit 3, HTTP 409
├── Overloaded                too many requests at once            exit 4, HTTP 503
├── EmbeddingError            the embedding model or service failed  exit 4, HTTP 502
├── RerankingError            the reranking service failed         exit 4, HTTP 502
├── TargetError            a validated retriever failed         exit 4, HTTP 502
│   └── TargetUnreachable     no usable answer; may be temporary  exit 4, HTTP 502
└── StoreError                a store failed or is unavailable     exit 4, HTTP 503
    ├── StoreBusy             another process is writing           exit 4, HTTP 503
       ├── StoreUnreachable      no usable answer; may be temporary   exit 4, HTTP 503
       ├── StoreRefused          rejected the credentials or request  exit 4, HTTP 503
       ├── StoreChanged          stored data is missing or altered    exit 4, HTTP 503
    ├── StoreFull             the disk has too little room         exit 4, HTTP 503
       └── NothingIngested       the server has no data yet           exit 4, HTTP 503

Each message names the thing, the reason and the next step, and never contains a URL's password.
"""

import re

_USERINFO = re.compile(
    r"""(://|\b(?i:https?|s?ftp):/)(?:              # a URL normalised as a path has one slash
        [^\s/?#@:"]*:(?!\d*[/?#])[^\s"]{0,1000}@    # a password with any characters; not a port
        |[^\s/?#@"]{0,1000}@                         # a user name or a token
    )""",
    re.VERBOSE,
)
_WITHOUT_SCHEME = re.compile(
    r"""(?<![\w/.:@-])(//)?(?!mailto:)[^\s/?#@:"'=(]{1,200}:[^\s@"'/]{1,200}@(?=\w)"""
)


def without_passwords(text: str) -> str:
    """Replace every user name and password in a URL with `…`.

    Apply it to every URL that is shown: in errors, logs, notes and settings.
    """
    if "@" not in text:
        return text
    return _WITHOUT_SCHEME.sub(r"\1…@", _USERINFO.sub(r"\1…@", text))


class SurefindError(Exception):
    """The root of the tree: catch it to handle every error that surefind raises on purpose.

    `retry_after_s` is set when the time to retry is known.
    """

    retry_after_s: int | None = None

    def __init__(self, *args: object) -> None:
        super().__init__(*(without_passwords(a) if isinstance(a, str) else a for a in args))


class InputError(SurefindError, ValueError):
    """The caller's input is invalid."""


class UnknownCollection(InputError):  # noqa: N818 - the name states the result
    pass


class UnknownGeneration(InputError):  # noqa: N818
    pass


class UnknownChunk(InputError):  # noqa: N818
    pass


class UnknownDocument(InputError):  # noqa: N818
    pass


class FormatTooNew(InputError):  # noqa: N818
    pass


class VersionMismatch(InputError):  # noqa: N818
    """A client can't read what the server answers, because their versions differ too much."""


class AddressInUse(InputError):  # noqa: N818
    pass


class GuardStopped(SurefindError):  # noqa: N818
    """A guard refused to publish; the published generation has not changed."""


class NotComparable(SurefindError):  # noqa: N818
    """Two runs can't be compared; the message says why."""


class Overloaded(SurefindError):  # noqa: N818
    retry_after_s = 1


class EmbeddingError(SurefindError):
    pass


class RerankingError(SurefindError):
    pass


class TargetError(SurefindError):
    """A retriever that is being validated refused, or its answer can't be read."""


class TargetUnreachable(TargetError):  # noqa: N818 - the name states the result
    """A timeout, a network problem or a failing service: retrying later may help."""


class StoreError(SurefindError):
    pass


class StoreBusy(StoreError):  # noqa: N818
    pass


class StoreUnreachable(StoreError):  # noqa: N818
    """A wrong address, a network problem, a timeout or a server failure: retrying may help."""


class StoreRefused(StoreError):  # noqa: N818
    """The store answered and refused: retrying without a change does not help."""


class StoreChanged(StoreError):  # noqa: N818
    """Data that surefind wrote is missing or has changed since."""


class StoreFull(StoreError):  # noqa: N818
    """The disk is too full; the published generation has not changed."""


class NothingIngested(StoreError):  # noqa: N818
    """For requests that name no collection: an empty server is not the client's mistake."""
