"""Hugo's configuration: one file or a folder of files, in three formats; broken ones are named."""

import pytest

from surefind.text.sites.hugo.config import HugoConfig, Language, Mount


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hugo.toml", 'baseURL = "https://x.org/"'),
        ("config.yaml", "baseurl: https://x.org/"),
        ("hugo.yml", "baseURL: https://x.org/"),
        ("hugo.json", '{"BaseURL": "https://x.org/"}'),
        ("config/_default/config.toml", 'baseURL = "https://x.org/"'),
    ],
)
def test_every_format_is_read(name: str, text: str) -> None:
    config = HugoConfig({name: text})
    assert config.is_hugo
    assert config.text("baseurl", "") == "https://x.org/"
    assert config.notes == []


def test_files_in_a_folder_are_merged_and_production_wins() -> None:
    files = {
        "hugo.toml": 'contentDir = "a"\n[params]\nx = 1\ny = 1',
        "config/_default/hugo.yaml": "contentDir: b",
        "config/_default/params.toml": "X = 2",
        "config/_default/params.de.toml": "x = 9",
        "config/production/params.json": '{"z": [{"A": 1}, 2]}',
    }
    config = HugoConfig(files)
    assert config.mounts() == (Mount("b"),)
    assert config.table("params") == {"x": 2, "y": 1, "z": [{"a": 1}, 2]}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hugo.toml", "baseURL = "),
        ("hugo.yaml", "a: [b"),
        ("hugo.yaml", "!!python/object/apply:os.system [exit]"),
        ("hugo.yaml", "- a"),
        ("hugo.json", "{" * 100_000),
        ("hugo.json", '{"a":' * 2_000 + "1" + "}" * 2_000),
        ("hugo.toml", ""),
    ],
)
def test_a_broken_config_is_named(name: str, text: str) -> None:
    config = HugoConfig({name: text})
    assert config.is_hugo
    assert not HugoConfig({f"config{name[4:]}": text}).is_hugo
    assert config.mounts() == (Mount("content"),)
    assert bool(config.notes) == bool(text)
    assert all(name in note for note in config.notes)


def test_values_of_a_wrong_type_are_the_defaults() -> None:
    config = HugoConfig(
        {"hugo.toml": 'baseURL = 1\nbuildDrafts = "x"\nlanguages = 1\npermalinks = 2\nmodule = "m"'}
    )
    assert config.text("baseurl", "") == ""
    assert not config.flag("builddrafts")
    assert config.languages() == {"en": Language("en")}
    assert config.permalinks() == {"page": {}, "section": {}}
    assert config.mounts() == (Mount("content"),)
    assert config.notes == ["`baseurl` is not plain text; using ''."]


def test_slow_or_invalid_patterns_are_refused() -> None:
    patterns = ["(a+)+$", "a" * 300, ".*.*.*.*x", "[", "[.]bak$"]
    config = HugoConfig({"hugo.json": f'{{"ignoreFiles": {patterns}}}'.replace("'", '"')})
    assert [pattern.pattern for pattern in config.ignored_files()] == ["[.]bak$"]
    assert len(config.notes) == 4


def test_folders_of_the_generator_have_no_pages() -> None:
    config = HugoConfig({"hugo.toml": 'contentDir = "static/docs"\npublishDir = "out"'})
    folders = config.folders_without_pages()
    assert {"out", "layouts", "themes"} <= folders
    assert not {"public", "static"} & folders
