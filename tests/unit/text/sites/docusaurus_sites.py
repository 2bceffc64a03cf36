"""Docusaurus sites for tests, and what they say of a page."""

import json
from collections.abc import Mapping

from surefind.model import PageLocation, SkippedPage
from surefind.text.documents import PlacesPages
from surefind.text.sites.docusaurus.addresses import DocusaurusSite

Matter = Mapping[str, object]

SITE = "https://x.org"
PLAIN = """export default {url: 'https://x.org', baseUrl: '/', presets: ['classic']};"""


def config(extra: str = "", *, docs: str = "{}", plugins: str = "", base: str = "/") -> str:
    return (
        f"export default {{url: '{SITE}', baseUrl: '{base}', {extra}\n"
        f"  presets: [['classic', {{docs: {docs}}}]], plugins: [{plugins}]}};"
    )


def site_of(config_text: str | None, *versions: str, **options: object) -> DocusaurusSite:
    text = json.dumps(versions) if versions else None
    return DocusaurusSite.from_config(config_text, text, **options)  # type: ignore[arg-type]


def path_of(site: PlacesPages, site_path: str, matter: Matter | None = None) -> str:
    place = site.place(site_path, matter or {})
    assert isinstance(place, PageLocation), place
    assert place.url.startswith(SITE)
    return place.url.removeprefix(SITE)


def reason_of(site: PlacesPages, site_path: str, matter: Matter | None = None) -> str:
    place = site.place(site_path, matter or {})
    assert isinstance(place, SkippedPage), place
    return place.reason
