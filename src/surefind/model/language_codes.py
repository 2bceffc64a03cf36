"""Languages: their codes, their scripts, and the language of a page."""

from __future__ import annotations

import re
from collections.abc import Mapping

DEFAULT_LANGUAGE = "en"
ANY_LANGUAGE, AUTO_LANGUAGE = "any", "auto"
LANGUAGE = "page_language"
"""The attribute with the language of a page; pages in English lack it."""

LATIN, CYRILLIC, GREEK, ARABIC, HEBREW = "latin", "cyrillic", "greek", "arabic", "hebrew"
DEVANAGARI, HAN, KANA, HANGUL, THAI = "devanagari", "han", "kana", "hangul", "thai"
_NAMES = {
    LATIN: "az:Azerbaijani ca:Catalan cs:Czech da:Danish de:German en:English es:Spanish "
    "et:Estonian eu:Basque fi:Finnish fr:French gl:Galician hr:Croatian hu:Hungarian "
    "id:Indonesian it:Italian lt:Lithuanian lv:Latvian ms:Malay nl:Dutch no:Norwegian pl:Polish "
    "pt:Portuguese ro:Romanian sk:Slovak sl:Slovenian sv:Swedish sw:Swahili tr:Turkish "
    "vi:Vietnamese",
    CYRILLIC: "be:Belarusian bg:Bulgarian kk:Kazakh mk:Macedonian ru:Russian sr:Serbian "
    "tg:Tajik uk:Ukrainian",
    GREEK: "el:Greek",
    ARABIC: "ar:Arabic fa:Persian ur:Urdu",
    HEBREW: "he:Hebrew",
    DEVANAGARI: "hi:Hindi mr:Marathi ne:Nepali",
    HAN: "zh:Chinese",
    KANA: "ja:Japanese",
    HANGUL: "ko:Korean",
    THAI: "th:Thai",
    "armenian": "hy:Armenian",
    "bengali": "bn:Bengali",
    "tamil": "ta:Tamil",
}
_PAIRS = [
    (script, *entry.split(":")) for script, entries in _NAMES.items() for entry in entries.split()
]
SCRIPTS: Mapping[str, str] = {code: script for script, code, _ in _PAIRS}
"""The script of each language that surefind knows; Japanese is recognised by its kana."""
LANGUAGE_NAMES: Mapping[str, str] = {code: name for _, code, name in _PAIRS}

_CODES = {name.lower(): code for code, name in LANGUAGE_NAMES.items()}
_ALIASES = {"nb": "no", "nn": "no", "iw": "he", "in": "id", "cmn": "zh"}
_TAG = re.compile(r"([A-Za-z]{2,3})(?:[-_][A-Za-z0-9]+)*")


def language_code(tag: object) -> str:
    """The code of a language tag or English name; empty if surefind does not know it.

    >>> language_code("pt-BR"), language_code("German"), language_code("zh_Hans"), language_code(7)
    ('pt', 'de', 'zh', '')
    """
    if not isinstance(tag, str):
        return ""
    match = _TAG.fullmatch(tag.strip())
    code = match[1].lower() if match else ""
    code = _ALIASES.get(code, code)
    return code if code in SCRIPTS else _CODES.get(tag.strip().lower(), "")


def language_in(attributes: Mapping[str, object]) -> str:
    """The language of a page with these attributes."""
    code = attributes.get(LANGUAGE)
    return code if isinstance(code, str) and code in SCRIPTS else DEFAULT_LANGUAGE
