"""Spellings that mean the same word: diacritics, digits, and the letters of the Arabic script."""

import unicodedata
from collections.abc import Mapping

_TATWEEL = "\u0640"
_LETTERS: Mapping[str, Mapping[int, int | None]] = {
    "ar": str.maketrans("ىیکۀأإآٱ", "ييكهاااا", _TATWEEL),
    "fa": str.maketrans("يىكۀةأإٱ", "ییکههااا", _TATWEEL),
    "ur": str.maketrans("يىكهة", "ییکہہ", _TATWEEL),
    "ru": str.maketrans("ё", "е"),
}
_UNVOWELLED = ("ar", "fa", "ur", "he")
_FOLDED = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ı": "i"})
# Articles and inflections, for languages that Snowball lacks or, as in Arabic, stems unevenly: it
# gives different stems to "file" and "files".
_BEGINNINGS: Mapping[str, tuple[str, ...]] = {
    "ar": ("وال", "بال", "كال", "فال", "لل", "ال"),
}
_ENDINGS: Mapping[str, tuple[str, ...]] = {
    "ar": ("ها", "ان", "ات", "ون", "ين", "ية", "ه", "ة", "ي"),
    "fa": ("هایی", "های", "ها", "ترین", "تر", "ات", "ی"),
    "ur": ("یوں", "یاں", "وں", "یں", "ات", "ے", "ا", "ی"),
}
_SHORTEST_STEM = 3
STOP_WORDS: Mapping[str, frozenset[str]] = {
    code: frozenset(words.split())
    for code, words in {
        "fa": "و در به از که این آن را با است برای یک می نمی ها های هایی تر ترین شود شد کرد کند "
        "کنید هر یا تا بر بود اگر چه چگونه چطور خود",
        "ur": "کا کی کے کو میں سے پر اور ہے ہیں یہ وہ کہ نے ایک تو بھی کیا کیسے اس ان جو یا تک ہو "
        "ہوتا ہوتی ہوتے کریں کرنا کرتے لیے گا گی گے آپ نہیں",
        "hi": "का की के को में से पर और है हैं यह वह कि ने एक तो भी क्या कैसे इस उस जो या तक हो लिए करें नहीं",
        "uk": "як що де хто коли чому я і й або не з для на в від це та у чи до за як є",
        "pl": "jak co gdzie kto jest są nie z do na w i lub się dla to od o za przez po",
        "cs": "jak co kde kdo je jsou se na pro a i nebo v z do o s k za při",
    }.items()
}


def normalized(word: str, language: str) -> str:
    """The word in lower case, with one spelling of each letter and without vowel marks.

    English words are only lowered, as in indexes of earlier versions.
    """
    if language == "tr":
        word = word.replace("İ", "i").replace("I", "ı")
    word = word.lower()
    if language == "en" or word.isascii():
        return word
    if language in _UNVOWELLED:
        word = "".join(each for each in word if not unicodedata.combining(each))
    word = word.translate(_LETTERS.get(language, {}))
    return "".join(str(unicodedata.decimal(each, each)) for each in word)


def folded(word: str) -> str:
    """A lower-case Latin word without accents; other words stay as they are.

    >>> folded("größe"), folded("instalación"), folded("й")
    ('grosse', 'instalacion', 'й')
    """
    if word.isascii():
        return word
    plain = "".join(
        character
        for character in unicodedata.normalize("NFD", word.translate(_FOLDED))
        if not unicodedata.combining(character)
    )
    return plain if plain.isascii() else word


def light_stem(word: str, language: str) -> str:
    """The word without its longest known beginning and ending.

    >>> light_stem("والملفات", "ar"), light_stem("فائلوں", "ur"), light_stem("files", "en")
    ('ملف', 'فائل', 'files')
    """
    for beginning in _BEGINNINGS.get(language, ()):
        if word.startswith(beginning) and len(word) - len(beginning) >= _SHORTEST_STEM:
            word = word[len(beginning) :]
            break
    for ending in _ENDINGS.get(language, ()):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word[: -len(ending)]
    return word
