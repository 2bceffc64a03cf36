"""Which urls may become links, wherever they come from."""

import pytest

from surefind.errors import InputError
from surefind.model import SourcePage, is_link
from surefind.text.documents import PlacesPages, ReadPage, read_document
from surefind.text.sites.docusaurus.addresses import DocusaurusSite
from surefind.text.sites.mkdocs.addresses import MkDocsSite

SCRIPTS = [
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "javascript://%0aalert(1)",
    " \x00\x1fjavascript:alert(1)",
    "java\tscr\nipt\r:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:msgbox",
    "file:///etc/passwd",
    "blob:https://example.com/1",
    "http://[::1",
    "http://example.com:99999999/",
]
LINKS = [
    "",
    "/read/docs/a.md",
    "guide/install",
    "../a?b=c:d",
    "#javascript:x",
    "//example.com/a",
    "https://example.com/a:b",
    "HTTP://example.com",
    "/größe",
]


@pytest.mark.parametrize("url", SCRIPTS)
def test_what_a_browser_would_run_or_open_elsewhere_is_not_a_link(url: str) -> None:
    assert not is_link(url)


@pytest.mark.parametrize("url", LINKS)
def test_web_addresses_and_relative_ones_are_links(url: str) -> None:
    assert is_link(url)


@pytest.mark.parametrize(
    "site",
    [
        MkDocsSite.from_config("site_url: javascript:alert(1)//"),
        DocusaurusSite.from_config(
            "export default {url: 'javascript:alert(1)//', baseUrl: '/', presets: ['classic']};"
        ),
    ],
)
def test_a_site_whose_config_names_a_script_as_its_address_is_refused(site: PlacesPages) -> None:
    page = SourcePage("docs/a.md", "docs/a.md", b"# A\n\ntext")
    with pytest.raises(InputError, match=r"neither http\(s\) nor relative; set the site's URL"):
        read_document(page, site)


def test_the_same_site_with_an_address_of_its_own_is_read() -> None:
    page = SourcePage("docs/a.md", "docs/a.md", b"# A\n\ntext")
    found = read_document(page, MkDocsSite.from_config("site_url: https://example.com/"))
    assert isinstance(found, ReadPage)
    assert found.document.url == "https://example.com/a/"
