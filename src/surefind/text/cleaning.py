"""Bytes to clean text: one encoding, one line ending, nothing invisible."""

import re

from surefind.errors import InputError

# Control characters but tab and newline; zero-width space, word joiner, byte order mark.
# Zero-width joiner and non-joiner stay: emoji and several scripts are spelled with them.
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\u200b\u2060\ufeff]")
_LINE_ENDING = re.compile("\r\n?|\x85|\u2028|\u2029")
_BINARY_PROBE_BYTES = 8192


def clean(content: bytes) -> str:
    """The text of a page. InputError, with the reason, where the bytes are not text."""
    if b"\x00" in content[:_BINARY_PROBE_BYTES]:
        raise InputError("it is a binary file (it holds NUL bytes); leave it out of the source")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"it is not UTF-8 text (byte {error.start}); save it as UTF-8 or leave it out"
        ) from error
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text  # as most pages are, and much sooner known than by the patterns
    return _INVISIBLE.sub("", _LINE_ENDING.sub("\n", text))
