"""A connection in surefind.toml: written beside what a person wrote there, and read again."""

import stat
import tomllib
from pathlib import Path

import pytest

from surefind.adapters.files.connection_table import (
    connection_toml,
    read_connection,
    save_connection,
)
from surefind.errors import InputError
from surefind.model import (
    Connection,
    Distance,
    EmbedderFingerprint,
    Field,
    FieldKind,
    PayloadMapping,
    PositionKind,
    Role,
    VectorSpace,
)
from surefind.settings import load

MADE_BY = EmbedderFingerprint("fake", "words", 32, "w", "")


def made(name: str = "handbook", **changes: object) -> Connection:
    given: dict[str, object] = {
        "name": name,
        "collection": "Their Handbook",
        "mapping": PayloadMapping(
            {Role.TEXT: ("text", "chunk_text"), Role.URL: ('meta."a.b"',), Role.POSITION: ("n",)},
            PositionKind.ORDINAL,
            1,
        ),
        "space": VectorSpace("dense", 32, Distance.DOT),
        "unit": False,
        "lexical": "bm25",
        "fields": (Field('meta."a.b"', (FieldKind.TEXT,)), Field("n", (FieldKind.NUMBER,))),
        "url": "http://localhost:6333",
        "embedder": MADE_BY,
    }
    return Connection(**{**given, **changes})  # type: ignore[arg-type]


def test_the_table_that_is_joined_is_kept() -> None:
    connection = made("book", documents_table="public.documents")
    table = tomllib.loads(connection_toml(connection))["connected"]["book"]
    assert table["documents_table"] == "public.documents"
    assert read_connection("book", table) == connection


@pytest.mark.parametrize("name", ["handbook", "Their Handbook", 'odd "name"', "häß.lich", "a\\b"])
def test_what_is_written_is_read_again(name: str) -> None:
    connection = made(name)
    table = tomllib.loads(connection_toml(connection))["connected"][name]
    assert read_connection(name, table) == connection


def test_every_other_line_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "surefind.toml"
    mine = '# mine\nport = 9000   # why\n\ncors_origins = [\n  "https://a.example",\n]\n'
    path.write_text(mine)
    save_connection(made("one"), path)
    save_connection(made("two"), path)
    save_connection(made("one", unit=True), path)
    text = path.read_text()
    assert text.startswith(mine)
    assert text.index("[connected.one]") < text.index("[connected.two]")
    assert text.count("[connected.one]") == 1
    settings = load()
    assert {held.name: held.unit for held in settings.connected} == {"one": True, "two": False}
    assert settings.port == 9000


def test_a_persons_remarks_in_the_table_outlive_a_new_connection(tmp_path: Path) -> None:
    path = tmp_path / "surefind.toml"
    save_connection(made(), path)
    path.write_text(path.read_text().replace("unit =", "# measured by hand\nunit ="))
    save_connection(made(unit=True), path)
    save_connection(made(unit=True), path)
    assert path.read_text().count("# measured by hand") == 1


def test_line_ends_and_rights_stay(tmp_path: Path) -> None:
    path = tmp_path / "surefind.toml"
    path.write_bytes(b"port = 9000\r\n")
    path.chmod(0o600)
    save_connection(made(), path)
    assert b"\n" not in path.read_bytes().replace(b"\r\n", b"")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_to_a_file_elsewhere_stays_one(tmp_path: Path) -> None:
    real = tmp_path / "real.toml"
    real.write_text("port = 9000")
    path = tmp_path / "surefind.toml"
    path.symlink_to(real)
    save_connection(made(), path)
    assert path.is_symlink()
    assert "[connected.handbook]" in real.read_text()


@pytest.mark.parametrize(
    "broken",
    [
        "port = = 9000\n",
        "[connected.handbook\n",
        "connected = { handbook = { dimensions = 3 } }\n",
        "[connected]\nhandbook.dimensions = 3\n",
        'connected = "x"\n',
        'note = """\n[connected.handbook]\n"""\n[connected.handbook]\ndimensions = 3\n',
        "\xff",
    ],
)
def test_a_file_that_can_not_be_kept_whole_is_not_touched(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "surefind.toml"
    path.write_bytes(broken.encode("latin-1"))
    with pytest.raises(InputError, match="was not changed") as refused:
        save_connection(made(), path)
    assert path.read_bytes() == broken.encode("latin-1")
    assert "[connected.handbook.map]" in str(refused.value)


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ("dimensions = 3\nvectr = 'x'", "handbook.vectr"),
        ("vector = 'x'", "handbook.dimensions"),
        ("dimensions = 3\ndistance = 'far'", "handbook.distance"),
        ("dimensions = 3\nmap = {txt = 'a'}", "handbook.map.txt"),
        ("dimensions = 3\nmap = {text = 5}", "handbook.map.text"),
        ("dimensions = 3\nmap = {text = 'a..b'}", "a..b"),
        ("dimensions = 3\nfields = {a = 'blue'}", "handbook.fields.a"),
        ("dimensions = 3\nembedder = {model = 'x'}", "handbook.embedder"),
        ("dimensions = 3\nurl = 5", "handbook.url"),
    ],
)
def test_a_table_that_says_nonsense_is_named(tmp_path: Path, table: str, named: str) -> None:
    (tmp_path / "surefind.toml").write_text(f"[connected.handbook]\n{table}\n")
    with pytest.raises(InputError, match=named.replace(".", r"\.")):
        load()


def test_a_table_written_by_hand_needs_little(tmp_path: Path) -> None:
    (tmp_path / "surefind.toml").write_text(
        "[connected.docs2]\ndimensions = 384\nmap = {text = 'body'}\n"
    )
    [connection] = load().connected
    assert connection.collection == "docs2"
    assert connection.space == VectorSpace("", 384, Distance.COSINE)
    assert connection.mapping.of(Role.TEXT) == ("body",)
    assert connection.embedder is None
    assert hash(load()) == hash(load())
