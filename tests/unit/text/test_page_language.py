"""Which pages are clearly in another language than English, and which models are for English."""

import pytest

from surefind.text.languages import is_for_english, page_language

GERMAN = (
    "# Einrichtung\n\nÖffnen Sie das Ventil langsam, bis der Druck im Kessel wieder höher ist. "
    "Danach schließen Sie das Ventil und drücken die Taste für fünf Sekunden. Die Anzeige zeigt "
    "nun den gewünschten Wert, und die Heizung läuft wieder an.\n"
)
ENGLISH = (
    "# Setup\n\nOpen the valve slowly until the pressure in the boiler has risen again. Then close "
    "the valve and press the button for five seconds. The display now shows the value that you "
    "want, and the heating starts again, in the café too.\n"
)


@pytest.mark.parametrize(
    "text",
    [
        GERMAN,
        "# Installation\n\n" + "Ouvrez le robinet jusqu'à la pression désirée, puis fermez. " * 5,
        "# Установка\n\n" + "Откройте кран и дождитесь нужного давления. " * 6,
        "# 安装\n\n" + "打开阀门，直到压力恢复正常，然后关闭阀门并按下按钮。" * 10,
        GERMAN + "\n```\n" + "if this is not the end: print('and you are here')\n" * 20 + "```\n",
    ],
)
def test_pages_in_other_languages_are_found(text: str) -> None:
    assert page_language({}, "", text) != "en"


@pytest.mark.parametrize(
    "text",
    [
        ENGLISH,
        "# Über uns\n\nZu kurz.\n",
        "| Name | Wert |\n|---|---|\n" + "| alpha_beta | 12 px |\n" * 40,
        "```\n" + GERMAN + "```\n",
        "# Names\n\n" + "José and Zoë thank you for the work that Søren has done with them. " * 5,
        "",
    ],
)
def test_english_short_and_coded_pages_are_not(text: str) -> None:
    assert page_language({}, "", text) == "en"


@pytest.mark.parametrize(
    ("model", "english"),
    [
        ("BAAI/bge-small-en-v1.5-int8", True),
        ("embed-english-v3.0", True),
        ("embed-multilingual-v3.0", False),
        ("intfloat/multilingual-e5-small", False),
        ("text-embedding-3-small", False),
        ("", False),
    ],
)
def test_models_for_english_say_so_in_their_names(model: str, *, english: bool) -> None:
    assert is_for_english(model) is english
