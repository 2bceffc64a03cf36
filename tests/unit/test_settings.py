"""Settings: where they come from, which wins, and what is refused."""

from pathlib import Path

import pytest

from surefind.errors import InputError
from surefind.settings import Settings, check_platform_port, load, notices_of, origin_of


def test_with_nothing_set_everything_is_embedded_under_the_working_folder() -> None:
    settings = load()
    assert settings.data_dir == Path(".surefind")
    assert (settings.host, settings.port, settings.collection) == ("127.0.0.1", 8000, "docs")


def test_what_is_given_wins_over_the_environment_over_dotenv_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "surefind.toml").write_text(
        'collection = "file"\nmax_tokens = 100\nport = 1\nhost = "h"'
    )
    (tmp_path / ".env").write_text(
        "SUREFIND_COLLECTION=dotenv\nSUREFIND_MAX_TOKENS=200\nSUREFIND_PORT=2\nOTHER=x"
    )
    monkeypatch.setenv("SUREFIND_COLLECTION", "environment")
    monkeypatch.setenv("SUREFIND_MAX_TOKENS", "300")
    settings = load(collection="given", max_tokens=None)
    assert (settings.collection, settings.max_tokens) == ("given", 300)
    assert (settings.port, settings.host) == (2, "h")


def test_the_port_of_a_container_platform_is_taken_unless_ours_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORT", "9000")
    assert load().port == 9000
    assert load(port=9001).port == 9001
    (tmp_path / "surefind.toml").write_text("port = 9003")
    assert load().port == 9000
    (tmp_path / ".env").write_text("SUREFIND_PORT=9004")
    assert load().port == 9004
    monkeypatch.setenv("SUREFIND_PORT", "9002")
    assert load().port == 9002


def test_an_empty_port_counts_as_not_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "9000")
    monkeypatch.setenv("SUREFIND_PORT", "")
    assert load().port == 9000
    (tmp_path / ".env").write_text("SUREFIND_PORT=\n")
    assert load().port == 9000


@pytest.mark.parametrize("port", ["abc", "-1", "70000", "٣"])
def test_an_invalid_port_of_the_platform_stops_only_servers(
    monkeypatch: pytest.MonkeyPatch, port: str
) -> None:
    monkeypatch.setenv("PORT", port)
    assert load().port == 8000
    with pytest.raises(InputError, match="PORT must be 0 to 65535"):
        check_platform_port(None)
    check_platform_port(9000)
    monkeypatch.setenv("SUREFIND_PORT", "9001")
    check_platform_port(None)


def test_where_developers_keep_corpora_and_services_is_not_for_us(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("SUREFIND_DATA", "SUREFIND_TEST_QDRANT_URL", "SUREFIND_TEST_DATABASE_URL"):
        monkeypatch.setenv(name, "somewhere")
    assert load().port == 8000


def test_what_kubernetes_says_of_a_service_named_surefind_is_not_for_us(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {
        "SUREFIND_SERVICE_HOST": "10.0.0.11",
        "SUREFIND_SERVICE_PORT": "8000",
        "SUREFIND_SERVICE_PORT_HTTP": "8000",
        "SUREFIND_PORT": "tcp://10.0.0.11:8000",
        "SUREFIND_PORT_8000_TCP": "tcp://10.0.0.11:8000",
        "SUREFIND_PORT_8000_TCP_PROTO": "tcp",
        "SUREFIND_PORT_8000_TCP_PORT": "8000",
        "SUREFIND_PORT_8000_TCP_ADDR": "10.0.0.11",
    }.items():
        monkeypatch.setenv(name, value)
    assert load().port == 8000
    monkeypatch.setenv("PORT", "9000")
    assert load().port == 9000


def test_a_tilde_is_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/tea")
    (tmp_path / "surefind.toml").write_text('data_dir = "~/data"\ncache_dir = "~/cache"\n')
    monkeypatch.setenv("SUREFIND_MODEL_DIR", "~/model")
    settings = load()
    assert settings.data_dir == Path("/home/tea/data")
    assert (settings.cache_dir, settings.model_dir) == (
        Path("/home/tea/cache"),
        Path("/home/tea/model"),
    )
    with pytest.raises(InputError, match="the setting data_dir: ~nobody-of-that-name"):
        load(data_dir="~nobody-of-that-name/x")
    with pytest.raises(InputError, match="the setting data_dir"):
        load(data_dir=5)


def test_the_overlap_of_chunks_is_at_most_half_of_them() -> None:
    assert load().chunker.overlap_tokens == 0
    assert load(max_tokens=100, overlap_tokens=50).chunker.overlap_tokens == 50
    with pytest.raises(InputError, match="at most half of max_tokens, 50"):
        load(max_tokens=100, overlap_tokens=51)
    with pytest.raises(InputError, match="the setting max_tokens"):
        load(max_tokens=1, overlap_tokens=51)


def test_a_misspelt_name_in_code_is_an_error_too() -> None:
    with pytest.raises(InputError, match="Unknown setting: datadir"):
        load(datadir="x")
    with pytest.raises(InputError, match="data_dir: it is empty"):
        load(data_dir="")


def test_secrets_never_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COHERE_API_KEY", "very-secret")
    monkeypatch.setenv("DATABASE_URL", "postgresql://u:very-secret@h/d")
    settings = load()
    assert "very-secret" not in repr(settings) + str(settings)
    assert settings.idle_keys == ["COHERE_API_KEY"]
    assert load(reranker="cohere").idle_keys == load(embedder="cohere").idle_keys == []


def test_a_prefixed_address_wins_over_one_that_other_programs_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "surefind.toml").write_text('qdrant_url = "http://file"')
    assert load().qdrant_url == "http://file"
    monkeypatch.setenv("QDRANT_URL", "http://theirs")
    assert (load().qdrant_url, origin_of("QDRANT_URL")) == ("http://theirs", "QDRANT_URL")
    (tmp_path / ".env").write_text("SUREFIND_QDRANT_URL=http://ours")
    assert (load().qdrant_url, origin_of("QDRANT_URL")) == ("http://ours", "SUREFIND_QDRANT_URL")
    assert load(qdrant_url="http://given").qdrant_url == "http://given"


@pytest.mark.parametrize("address", ["mysql://u:secret@h/d", "sqlite:///db.sqlite3"])
def test_the_database_of_another_program_in_dotenv_is_ignored_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    (tmp_path / ".env").write_text(f"DATABASE_URL={address}")
    settings = load()
    assert settings.database_url is None
    notices = notices_of(settings)
    assert notices["DATABASE_URL"].startswith("DATABASE_URL in .env is ignored: ")
    assert "secret" not in str(notices)
    assert not notices_of(load(stores="embedded"))
    monkeypatch.setenv("SUREFIND_DATABASE_URL", "postgresql://h/d")
    settings = load()
    assert settings.database_url is not None
    assert not notices_of(settings)


def test_embedded_stores_switch_the_servers_off(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("DATABASE_URL=postgres://h/d\nQDRANT_URL=http://q")
    settings = load()
    assert (settings.index_url, settings.catalog_url) == ("http://q", settings.database_url)
    assert origin_of("DATABASE_URL") == "DATABASE_URL in .env"
    (tmp_path / "surefind.toml").write_text('stores = "embedded"')
    settings = load()
    assert (settings.index_url, settings.catalog_url) == (None, None)
    assert settings.qdrant_url == "http://q"


def test_a_key_may_be_given_in_code_and_in_the_file(tmp_path: Path) -> None:
    given = load(cohere_api_key="very-secret").cohere_api_key
    (tmp_path / "surefind.toml").write_text('OPENAI_API_KEY = "very-secret"')
    written = load().openai_api_key
    assert given == written
    assert given is not None
    assert given.get_secret_value() == "very-secret"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("SUREFIND_COLECTION", "x", "Unknown setting: SUREFIND_COLECTION"),
        ("SUREFIND_QDRANT_URL", "q:6333", "QDRANT_URL: it must begin with http"),
        ("SUREFIND_STORES", "qdrant", "the setting stores"),
        ("SUREFIND_QDRANT_READ_CONSISTENCY", "0", "the setting qdrant_read_consistency"),
        ("SUREFIND_QDRANT_READ_CONSISTENCY", "most", "the setting qdrant_read_consistency"),
        ("SUREFIND_SERVICE_HOSTS", "x", "Unknown setting: SUREFIND_SERVICE_HOSTS"),
        ("SUREFIND_PORT_EIGHT_TCP", "x", "Unknown setting: SUREFIND_PORT_EIGHT_TCP"),
        ("SUREFIND_PORT", "tcp", "the setting port"),
        ("SUREFIND_MAX_TOKENS", "many", "the setting max_tokens"),
        ("SUREFIND_MAX_TOKENS", "1", "the setting max_tokens"),
        ("SUREFIND_OVERLAP_TOKENS", "-1", "the setting overlap_tokens"),
        ("SUREFIND_OVERLAP_TOKENS", "201", "overlap_tokens: it must be at most half of max_tokens"),
        ("SUREFIND_PORT", "70000", "the setting port"),
        ("SUREFIND_ALLOWED_HOSTS", "docs.example.com:80", "the setting allowed_hosts"),
        ("SUREFIND_TRUSTED_PROXIES", "proxy.internal", "the setting trusted_proxies"),
        ("SUREFIND_CORS_ORIGINS", "*", "each must be an origin"),
        ("SUREFIND_CORS_ORIGINS", "https://a.example/path", "each must be an origin"),
        ("SUREFIND_CORS_ORIGIN_REGEX", "(", "not a valid regular expression"),
        ("SUREFIND_RATE_LIMIT_PER_MINUTE", "0", "the setting rate_limit_per_minute"),
        ("SUREFIND_MAX_QUEUE", "-1", "the setting max_queue"),
        ("SUREFIND_BODY_TIMEOUT_S", "0", "the setting body_timeout_s"),
        ("SUREFIND_BASE_URL", "docs.example.com", "must begin with http"),
        ("SUREFIND_EMBED_URL", "localhost:11434", "embed_url: it must begin with http"),
        ("SUREFIND_EMBED_URL", "http://[::1", "embed_url: it must begin with http"),
        ("SUREFIND_RERANK_URL", "http://host:99999", "rerank_url: it must begin with http"),
        ("QDRANT_URL", "user:secret@host:6333", "QDRANT_URL: it must begin with http"),
        ("QDRANT_URL", "http://user:a/secret@host", "QDRANT_URL: it must begin with http"),
        ("SUREFIND_EMBEDDER", "magic", "the setting embedder"),
        ("SUREFIND_EMBED_PRICE_PER_MILLION_TOKENS", "-1", "embed_price_per_million_tokens"),
    ],
)
def test_a_wrong_variable_is_an_error_that_names_it_and_not_its_value(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=message):
        load()


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("surefind.toml", 'colection = "x"', "Unknown setting: colection in surefind.toml"),
        ("surefind.toml", "colection = ", "not valid TOML"),
        ("surefind.toml", b"\xff\xfe", "surefind.toml is not UTF-8 text"),
        (".env", "SUREFIND_HOST=café".encode("latin-1"), r"\.env is not UTF-8 text \(byte 17\)"),
        ("surefind.toml", 'qdrant_urls = "http://q"', "did you mean qdrant_url?"),
        ("surefind.toml", 'data_dir = ""', "the setting data_dir: it is empty"),
        (".env", "SUREFIND_COLECTION=x", "Unknown setting: SUREFIND_COLECTION"),
    ],
)
def test_a_wrong_file_is_an_error_too(
    tmp_path: Path, file: str, content: str | bytes, message: str
) -> None:
    raw = content.encode() if isinstance(content, str) else content
    (tmp_path / file).write_bytes(raw)
    with pytest.raises(InputError, match=message):
        load()


def test_a_file_that_can_not_be_read_is_reported(tmp_path: Path) -> None:
    (tmp_path / "surefind.toml").mkdir()
    with pytest.raises(InputError, match=r"surefind\.toml can't be read"):
        load()


def test_lists_are_written_with_commas_or_as_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "surefind.toml").write_text('cors_origins = ["https://a.example", "http://b:1"]')
    assert load().cors_origins == ("https://a.example", "http://b:1")
    monkeypatch.setenv("SUREFIND_CORS_ORIGINS", " https://c.example , ")
    assert load().cors_origins == ("https://c.example",)
    monkeypatch.setenv("SUREFIND_TRUSTED_PROXIES", "10.0.0.0/8,::1,192.168.1.7")
    assert load().trusted_proxies == ("10.0.0.0/8", "::1", "192.168.1.7")


def test_settings_do_not_change() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load().port = 1


def test_every_setting_of_ours_says_what_it_is_for() -> None:
    ours = [field for field in Settings.model_fields.values() if not field.validation_alias]
    assert all(field.description for field in ours)
