"""Detects the language of a page and of a question."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from surefind.model.language_codes import (
    ARABIC,
    CYRILLIC,
    DEFAULT_LANGUAGE,
    DEVANAGARI,
    GREEK,
    HAN,
    HANGUL,
    HEBREW,
    KANA,
    LATIN,
    SCRIPTS,
    THAI,
    language_code,
)

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

_SAMPLE = 6000  # characters of a page
_MIN_LETTERS = 80  # of the Latin script; shorter texts say too little
_MIN_SHARE = 0.3  # of the letters; pages in any script contain Latin names and code
_ENGLISH_SHARE = 0.12
_MIN_PROBABILITY = 0.6
_CJK = {HAN, KANA}
_DECLARED = ("lang", "language", "locale")
_NOT_PROSE = re.compile(
    r"^(```|~~~).*?^\1|`[^`\n]*`|<[^<>]*>|\]\([^()\s]*\)|https?://\S+|^(?: {4}|\t).*$",
    re.DOTALL | re.MULTILINE,
)
_WORD = re.compile(r"[^\W\d_]+")
# A character of Chinese or Japanese says as much as two or three letters.
_LETTERS: Mapping[str, tuple[re.Pattern[str], int]] = {
    script: (re.compile(f"[{ranges}]"), weight)
    for script, ranges, weight in (
        (LATIN, "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff", 1),
        (CYRILLIC, "\u0400-\u052f", 1),
        (GREEK, "\u0370-\u03ff\u1f00-\u1fff", 1),
        (ARABIC, "\u0620-\u064a\u066e-\u06d3\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc", 1),
        (HEBREW, "\u05d0-\u05ea", 1),
        (DEVANAGARI, "\u0900-\u0963", 1),
        (HAN, "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff", 3),
        (KANA, "\u3041-\u3096\u30a1-\u30fa", 3),
        (HANGUL, "\u1100-\u11ff\uac00-\ud7af", 3),
        (THAI, "\u0e01-\u0e4e", 1),
        ("armenian", "\u0531-\u0587", 1),
        ("bengali", "\u0980-\u09ff", 1),
        ("tamil", "\u0b80-\u0bff", 1),
    )
}
_KANA_SHARE = 0.1  # of the characters of a Japanese text, at least
_URDU = re.compile("[\u0679\u0688\u0691\u06ba\u06be\u06c1\u06d2]")
_PERSIAN = re.compile("[\u067e\u0686\u0698\u06af\u06a9\u06cc]")

_FUNCTION_WORDS: Mapping[str, frozenset[str]] = {
    code: frozenset(words.split())
    for code, words in {
        "ca": "amb els les una per com què quin on és són dels pel aquest",
        "cs": "jak je jsou se na pro co kde který která není jako při nebo však",
        "da": "hvordan hvad hvor jeg ikke og er det en et til af på med som kan min mit",
        "de": "wie was wo wer wann warum welche welcher ich man der die das den dem des ein eine "
        "einen einer und oder ist sind nicht mit für auf von zu im zum zur kann werden wird",
        "en": "how what where who when why which i you the a an and or is are not with for on of "
        "to in can do does be this that it from by as my",
        "es": "cómo qué dónde quién cuándo por cuál yo el la los las un una y o es son no con para "
        "en de del al se puedo está",
        "fi": "miten mitä missä mikä kuinka ja tai on ei ovat että voi se",
        "fr": "comment quoi où qui quand pourquoi quel quelle je le la les un une des et ou est "
        "sont ne pas avec pour sur de du au aux dans puis que ce",
        "hr": "kako gdje što koji koja je su se na za nije kao i ili od u",
        "hu": "hogyan mi hol ki mikor miért melyik a az egy és vagy van nem hogy",
        "id": "bagaimana apa mana siapa kapan mengapa yang dan atau adalah tidak dengan untuk di "
        "dari saya ini itu",
        "it": "come cosa dove chi quando perché quale io il lo la gli le un una e o è sono non con "
        "per di del della nel che si posso",
        "nl": "hoe wat waar wie wanneer waarom welke ik de het een en of is zijn niet met voor op "
        "van te in kan",
        "no": "hvordan hva hvor hvem jeg ikke og er det en et til av på med som kan mitt",
        "pl": "jak co gdzie kto kiedy dlaczego który jest są nie z do na w i lub się dla mogę",
        "pt": "como que onde quem quando qual eu o a os as um uma e ou é são não com para em de do "
        "da no na se posso",
        "ro": "cum ce unde cine când care eu și sau este sunt nu cu pentru pe de la în un o să pot",
        "sk": "ako čo kde kto kedy prečo ktorý je sú nie s do na v alebo sa pre",
        "sl": "kako kaj kje kdo kdaj zakaj je so ni ne z na za ali se in",
        "sv": "hur vad var vem när varför vilken jag och eller är det en ett att till av på med "
        "som kan inte för",
        "tr": "nasıl ne nerede kim niçin neden hangi bir ve veya ile için bu mi mı değil nedir "
        "olarak",
        "vi": "làm thế nào gì đâu ai khi tại sao tôi và hoặc là không với cho của các được",
        "be": "як што дзе і ў на не гэта ці з для",
        "bg": "как какво къде кой кога защо и или е са не с за на от да се",
        "ru": "как что где кто когда почему какой я и или не с для на в от по это из к ли",
        "sr": "како шта где ко када зашто и или је су не са за на од да се",
        "uk": "як що де хто коли чому який я і й або не з для на в від це та у чи",
    }.items()
}
# Letters that a language has besides A to Z.
_OWN_LETTERS: Mapping[str, frozenset[str]] = {
    code: frozenset(letters)
    for code, letters in {
        "ca": "àçèéíïòóúü",
        "cs": "áčďéěíňóřšťúůýž",
        "da": "æøå",
        "de": "äöüß",
        "es": "áéíñóúü",
        "fi": "äö",
        "fr": "àâæçèéêëîïôœùûü",
        "hr": "čćđšž",
        "hu": "áéíóöőúüű",
        "it": "àèéìòù",
        "no": "æøå",
        "pl": "ąćęłńóśźż",
        "pt": "àáâãçéêíóôõú",
        "ro": "ăâîșțşţ",
        "sk": "áäčďéíĺľňóôŕšťúýž",
        "sl": "čšž",
        "sv": "äöå",
        "tr": "çğıöşü",
        "uk": "ґєії",
        "be": "ўі",
        "ru": "ыэёъ",
    }.items()
}


def page_language(front_matter: Mapping[str, object], locale: str, text: str) -> str:
    """The declared language of a page, else the one of its text; English in case of doubt.

    The text overrides a declaration with another script, such as a template's `lang="en"`.
    """
    tags = [front_matter.get(key) for key in _DECLARED]
    declared = next((code for code in map(language_code, (*tags, locale)) if code), "")
    prose = _NOT_PROSE.sub(" ", text[: 2 * _SAMPLE])[:_SAMPLE]
    script = script_of(prose)
    if declared and (
        script in ("", LATIN, SCRIPTS[declared]) or {script, SCRIPTS[declared]} <= _CJK
    ):
        return declared
    return _detected(prose, script)


def question_language(text: str, languages: Sequence[str]) -> str:
    """The one of a collection's languages in which a question is; empty if that is not clear."""
    script = script_of(text)
    same = [code for code in languages if SCRIPTS.get(code) == script]
    if script in (LATIN, CYRILLIC):
        found = _by_words(text, script)
        if script == CYRILLIC and not found:
            found = same
    elif script == ARABIC:
        found = [_arabic(text)] if _arabic(text) in same else same
    elif script == HAN:  # a short Japanese question may have no kana
        found = [code for code in ("zh", "ja") if code in languages]
    else:
        found = same
    known = [code for code in found if code in languages]
    return known[0] if len(known) == 1 else ""


def is_for_english(model: str) -> bool:
    """Whether a model says in its name that it is for English: `bge-small-en-v1.5`."""
    return re.search(r"(?:^|[-_/.])en(?:glish)?(?:[-_.]|$)", model) is not None


def script_of(text: str) -> str:
    """The script of most letters; a script besides Latin needs only a third of them."""
    counts = {
        script: weight * len(letters.findall(text))
        for script, (letters, weight) in _LETTERS.items()
    }
    total = sum(counts.values())
    if not total:
        return ""
    if counts[KANA] >= _KANA_SHARE * (counts[HAN] + counts[KANA]) > 0:
        counts[KANA] += counts.pop(HAN)
    others = {script: count for script, count in counts.items() if script != LATIN}
    most = max(others, key=others.__getitem__)
    return most if others[most] >= _MIN_SHARE * total else LATIN


def _detected(prose: str, script: str) -> str:
    if script == ARABIC:
        return _arabic(prose)
    codes = [code for code, written in SCRIPTS.items() if written == script]
    if len(codes) == 1:
        return codes[0]
    if script == LATIN:
        words = [word.lower() for word in _WORD.findall(prose)]
        english = _share(words, DEFAULT_LANGUAGE)
        if sum(map(len, words)) < _MIN_LETTERS or english >= _ENGLISH_SHARE:
            return DEFAULT_LANGUAGE
        best, probability = _identified(prose, codes)
        known = best not in _FUNCTION_WORDS or _share(words, best) > english
        return best if probability >= _MIN_PROBABILITY and known else DEFAULT_LANGUAGE
    return _identified(prose, codes)[0] if codes else DEFAULT_LANGUAGE


def _share(words: Sequence[str], code: str) -> float:
    known = _FUNCTION_WORDS[code]
    return sum(word in known for word in words) / len(words)


def _arabic(text: str) -> str:
    """Urdu and Persian have letters of their own; some appear in names, so they need a share."""
    letters = len(_LETTERS[ARABIC][0].findall(text))
    if len(_URDU.findall(text)) >= max(1, 0.03 * letters):
        return "ur"
    return "fa" if len(_PERSIAN.findall(text)) >= max(1, 0.03 * letters) else "ar"


def _by_words(text: str, script: str) -> list[str]:
    """The languages with the most function words and letters of their own in the text."""
    words = [word.lower() for word in _WORD.findall(text)]
    special = set("".join(words)) - set("abcdefghijklmnopqrstuvwxyz")
    scores: Counter[str] = Counter()
    for code, known in _FUNCTION_WORDS.items():
        if SCRIPTS[code] == script:
            scores[code] = 2 * sum(word in known for word in words)
            scores[code] += bool(special & _OWN_LETTERS.get(code, frozenset()))
    most = max(scores.values())
    return [code for code, score in scores.items() if score == most] if most else []


def _identified(prose: str, codes: Sequence[str]) -> tuple[str, float]:
    ranked = _identifier().rank(prose)
    return next(((code, share) for code, share in ranked if code in codes), (DEFAULT_LANGUAGE, 0.0))


@cache
def _identifier() -> "LanguageIdentifier":
    # It takes half a second and 100 MB, so English collections never load it.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # noqa: PLC0415

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
