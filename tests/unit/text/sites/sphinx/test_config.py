"""conf.py is read as plain data: what it computes is unread, and nothing in it runs."""

import pytest

from surefind.text.sites.sphinx.config import SphinxConfig


def test_plain_values_are_read_from_top_to_bottom() -> None:
    config = SphinxConfig(
        "import os\n"
        "base = 'https://docs.example.com'\n"
        "html_baseurl = base + '/kiosk/'\n"
        "version: str = '2.4'\n"
        "release = f'{version}.{1}'\n"
        "extensions = ['sphinx.ext.autodoc']\n"
        "extensions += ['myst_parser']\n"
        "extensions.append('sphinx.ext.todo')\n"
        "exclude_patterns = ('_build', 'drafts')\n"
        "extlinks = {'issue': ('https://x.org/%s', None)}\n"
    )
    assert config.is_sphinx
    assert config.text("html_baseurl") == "https://docs.example.com/kiosk/"
    assert config.plain("release") == "2.4.1"
    assert config.texts("extensions") == ("sphinx.ext.autodoc", "myst_parser", "sphinx.ext.todo")
    assert config.texts("exclude_patterns") == ("_build", "drafts")
    assert config.table("extlinks") == {"issue": ["https://x.org/%s", None]}
    assert config.suffixes == {".rst", ".md"}
    assert config.notes == []


def test_computed_values_are_noted() -> None:
    config = SphinxConfig(
        "html_baseurl = os.environ['URL']\n"
        "exclude_patterns = ['_build', *hidden()]\n"
        "extensions = []\n"
        "version, release = get_version('kiosk')\n"
    )
    assert config.text("html_baseurl") == ""
    assert config.texts("exclude_patterns") == ("_build",)
    assert config.plain("release") == ""
    assert config.notes == [
        "conf.py computes `html_baseurl`; using ''.",
        "conf.py computes a part of `exclude_patterns`, which was not read.",
    ]


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("if on_rtd:\n    html_baseurl = 'a'\nelse:\n    html_baseurl = 'b'\n", "a"),
        ("html_baseurl = 'a'\nif on_rtd:\n    html_baseurl = 'b'\n", "a"),
        ("try:\n    html_baseurl = 'a'\nexcept KeyError:\n    pass\n", "a"),
        ("with open('x') as f:\n    html_baseurl = 'a'\n", "a"),
        ("html_baseurl = 'a'\nhtml_baseurl += '/b'\n", "a/b"),
    ],
)
def test_values_in_conditions_count_if_there_are_no_others(source: str, value: str) -> None:
    assert SphinxConfig(source).text("html_baseurl") == value


@pytest.mark.parametrize(
    ("call", "folders"),
    [
        ("sys.path.insert(0, os.path.abspath('../src'))", ("../src",)),
        ("sys.path.append(str(Path(__file__).parent.parent / 'lib'))", ("../lib",)),
        ("sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', '..'))", ("../..",)),
        ("sys.path.insert(0, str(Path('..').resolve()))", ("..",)),
        ("sys.path.insert(0, os.environ['HOME'])", ()),
        ("sys.path.insert(0, computed / 'x')", ()),
    ],
)
def test_folders_of_modules_are_read(call: str, folders: tuple[str, ...]) -> None:
    assert SphinxConfig(f"{call}\n").import_folders == folders


@pytest.mark.parametrize(
    ("source", "note"),
    [
        ("extensions = [\n", "conf.py is not valid Python; using defaults."),
        ("extensions = []\n" + "(" * 5_000, "conf.py is not valid Python; using defaults."),
        ("extensions = []\n" + "x = " + "-" * 200_000 + "1", "conf.py is not valid Python"),
        ("extensions = []\n" + "#" * 600_000, "conf.py has more than 500,000 characters"),
    ],
    ids=["broken", "brackets", "deep", "huge"],
)
def test_a_hostile_config_leaves_the_defaults(source: str, note: str) -> None:
    config = SphinxConfig(source)
    assert config.is_sphinx
    assert config.notes[0].startswith(note)
    assert config.suffixes == {".rst"}


def test_many_and_deep_values_are_bounded() -> None:
    nested = SphinxConfig("extensions = " + "[" * 60 + "]" * 60)
    assert nested.texts("extensions") == ()
    doubled = "extensions = ['a', 'b']\n" + "extensions += extensions\n" * 60
    assert len(SphinxConfig(doubled).texts("extensions")) <= 20_000
    joined = "html_baseurl = 'ab'\n" + "html_baseurl += html_baseurl\n" * 60
    assert len(SphinxConfig(joined).text("html_baseurl")) <= 500_000
    formatted = "version = 'ab'\n" + "version = f'{version}{version}{version}'\n" * 60
    assert len(SphinxConfig(formatted).plain("version")) <= 500_000


def test_another_conf_py_is_not_of_sphinx() -> None:
    assert not SphinxConfig("DEBUG = True\n").is_sphinx


@pytest.mark.parametrize(
    ("written", "suffixes"),
    [
        ("'.txt'", {".txt"}),
        ("['.rst', '.TXT']", {".rst", ".txt"}),
        ("{'.md': 'markdown', '.rst': 'restructuredtext'}", {".rst", ".md"}),
        ("compute()", {".rst"}),
    ],
)
def test_suffixes_of_pages(written: str, suffixes: set[str]) -> None:
    assert SphinxConfig(f"source_suffix = {written}\n").suffixes == suffixes
