"""The language of a page and of a question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.lexical_fixtures import MANUALS
from surefind.model import LANGUAGE_NAMES, language_code
from surefind.text.languages import page_language, question_language

MIXED = ("de", "en", "fr", "ja", "ru", "ur")


@pytest.mark.parametrize("language", MANUALS)
def test_the_text_of_a_page_shows_its_language(language: str) -> None:
    assert page_language({}, "", "\n\n".join(MANUALS[language].passages)) == language


@pytest.mark.parametrize(
    ("front_matter", "locale", "language"),
    [
        ({"lang": "de-AT"}, "", "de"),
        ({"language": "French"}, "", "fr"),
        ({"locale": "pt_BR"}, "en", "pt"),
        ({"lang": "python"}, "", "en"),
        ({"lang": ["de"]}, "", "en"),
        ({"lang": 7}, "sv", "sv"),
        ({}, "zh-Hans-CN", "zh"),
        ({}, "next", "en"),
        ({"lang": ""}, "", "en"),
    ],
)
def test_a_declared_language_counts(
    front_matter: dict[str, object], locale: str, language: str
) -> None:
    assert page_language(front_matter, locale, "# Foo\n\n`bar`\n") == language


def test_a_declaration_in_another_script_does_not() -> None:
    russian = " ".join(MANUALS["ru"].passages)
    assert page_language({"language": "en"}, "en", russian) == "ru"
    assert page_language({"language": "uk"}, "", russian) == "uk"
    assert page_language({"language": "ja"}, "", "安装程序需要几分钟。") == "ja"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# API\n\n`GET /v1/users`\n\n    foo = bar\n",
        "# Server\n\nInstall, start, stop.\n",
        "| alpha | beta |\n|---|---|\n" + "| px | em rem |\n" * 30,
        "The name Größe comes from the German word for size, and Müller is a name with an umlaut. "
        "Both are used in the examples of this page.",
    ],
)
def test_english_is_the_answer_in_case_of_doubt(text: str) -> None:
    assert page_language({}, "", text) == "en"


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Wie installiere ich das Paket?", "de"),
        ("How do I install the package?", "en"),
        ("Comment installer le paquet ?", "fr"),
        ("パッケージをインストールする方法", "ja"),
        ("設定", "ja"),
        ("как установить пакет", "ru"),
        ("установка", "ru"),
        ("پیکج کیسے انسٹال کریں", "ur"),
        ("مفتاح", "ur"),
        ("¿cómo instalo el paquete?", ""),
        ("docker compose", ""),
        ("ภาษาไทย", ""),
        ("E04", ""),
        ("42 !?", ""),
        ("", ""),
    ],
)
def test_a_question_has_a_language_of_the_collection_or_none(question: str, language: str) -> None:
    assert question_language(question, MIXED) == language


def test_scripts_of_several_languages_need_more_evidence() -> None:
    assert question_language("فائل کیسے کھولیں", ("ar", "fa", "ur")) == "ur"
    assert question_language("پرونده را باز کن", ("ar", "fa")) == "fa"
    assert question_language("як встановити пакет", ("ru", "uk")) == "uk"
    assert question_language("установка", ("ru", "uk")) == ""
    assert question_language("设定", ("ja", "zh")) == ""
    assert question_language("設定する", ("ja", "zh")) == "ja"


@pytest.mark.parametrize("tag", [None, "", "x", "tlh", "e" * 5000, "de\0", "日本", 3.5, b"de"])
def test_unknown_tags_are_not_languages(tag: object) -> None:
    assert language_code(tag) == ""


@given(st.text(max_size=200))
def test_any_text_has_a_known_language(text: str) -> None:
    assert page_language({}, "", text) in LANGUAGE_NAMES
    assert question_language(text, MIXED) in {"", *MIXED}
