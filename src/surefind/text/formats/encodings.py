"""Detects the encoding of a page and decodes it."""

import codecs
import re

from surefind.errors import InputError

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_META_CHARSET = re.compile(rb"(<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*)([\w.:-]+)", re.IGNORECASE)
_HEAD = re.compile(rb"<head(?:\s[^>]{0,500})?>", re.IGNORECASE)
_WEB_CODECS = re.compile(  # some of Python's other codecs are slow on hostile input
    r"utf-8|utf-16(-[bl]e)?|ascii|iso8859-\d+|cp\d+|koi8-[ru]|gb2312|gbk|gb18030|big5|big5hkscs"
    r"|euc_jp|euc_kr|shift_jis|iso2022_jp|tis-620|mac-\w+"
)
_PRESCAN_BYTES = 4_096
_LATIN_1 = {"iso8859-1", "ascii"}  # browsers decode them as the superset windows-1252
_NOT_UTF_8 = "it is not UTF-8; read as windows-1252"
# Control characters except tab and newline; zero-width space, word joiner, byte order mark.
# Zero-width joiner and non-joiner stay, because emoji and several scripts need them.
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\u200b\u2060\ufeff]")
_LINE_ENDING = re.compile("\r\n?|\x85|\u2028|\u2029")
_BINARY_PROBE_BYTES = 8192


def clean(content: bytes) -> str:
    """Decode and clean a page; InputError, with the reason, if the bytes are not text."""
    if b"\x00" in content[:_BINARY_PROBE_BYTES]:
        raise InputError("it is a binary file (it contains NUL bytes); remove it from the source")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"it is not UTF-8 text (byte {error.start}); save it as UTF-8 or remove it"
        ) from error
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text  # true for most pages, and much faster than the patterns
    return _INVISIBLE.sub("", _LINE_ENDING.sub("\n", text))


def decode(content: bytes, *, meta_charset: bool = False) -> tuple[str, tuple[str, ...]]:
    """Try UTF-8 first: text in another encoding is hardly ever valid UTF-8 by chance."""
    if content.startswith(_UTF_16):
        try:
            return clean(content.decode("utf-16").encode()), ()
        except UnicodeDecodeError as error:
            raise InputError(
                f"it is not UTF-16 text (byte {error.start}), despite its byte order mark; "
                "save it as UTF-8 or remove it"
            ) from error
    try:
        return clean(content), ()
    except InputError:
        if b"\x00" in content:
            raise
    declared = _decoded_as_declared(content) if meta_charset else None
    if declared is not None:
        return clean(declared.encode()), ()
    return clean(content.decode("windows-1252", "replace").encode()), (_NOT_UTF_8,)


def _decoded_as_declared(content: bytes) -> str | None:
    codec = _declared_codec(content)
    if codec is None or codec.startswith("utf"):  # already tried
        return None
    try:
        return content.decode("cp1252" if codec in _LATIN_1 else codec)
    except UnicodeDecodeError:
        return None


def as_utf8(body: bytes, header_charset: str | None) -> bytes:
    """The page as received; converted to UTF-8 if only the header declares its encoding.

    ValueError if the bytes do not match the declared encoding.
    """
    in_page = _declared_codec(body)
    codec = _codec(header_charset or "") or in_page
    if codec is None:
        return body
    if codec in {"cp1252", *_LATIN_1} and in_page == "utf-8" and _decodes(body):
        return body  # the header is a server default; the page itself is right
    try:
        text = body.decode("cp1252" if codec in _LATIN_1 else codec)
    except UnicodeDecodeError as error:
        raise ValueError(f"is not valid {codec}, as declared (byte {error.start})") from error
    return body if codec in {"utf-8", in_page} else _declaring_utf8(text.encode("utf-8", "replace"))


def _declared_codec(html: bytes) -> str | None:
    meta = _META_CHARSET.search(html, 0, _PRESCAN_BYTES)
    return _codec(meta[2].decode("ascii")) if meta else None


def _codec(name: str) -> str | None:
    try:
        found = codecs.lookup(name.strip("\"' ").lower()).name
    except (LookupError, ValueError):
        return None
    return found if _WEB_CODECS.fullmatch(found) else None


def _decodes(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _declaring_utf8(html: bytes) -> bytes:
    """Replace the page's encoding declaration."""
    if _META_CHARSET.search(html, 0, _PRESCAN_BYTES):
        return _META_CHARSET.sub(rb"\1utf-8", html, count=1)
    head = _HEAD.search(html, 0, _PRESCAN_BYTES)
    at = head.end() if head else 0
    return html[:at] + b'<meta charset="utf-8">' + html[at:]
