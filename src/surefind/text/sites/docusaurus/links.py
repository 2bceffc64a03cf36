"""Where a link on a page of a Docusaurus site leads, as far as the config can tell.

A site makes pages that no file stands for: React pages, tags, generated categories, the blog's
lists. And often only a part of it is ingested. So a link is followed only within the docs of its
own instance and version; of any other nothing is said.
"""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from surefind.text.sites.docusaurus.options import DocusaurusSettings, Locale, join_paths
from surefind.text.sites.site import addresses_below

_MADE_BY_THE_SITE = re.compile(r"(?:category|tags)(?:/|\Z)")

Versions = Mapping[str, Mapping[str, str]]
"""By the id of a docs instance, the path of each version."""


def link_addresses(
    settings: DocusaurusSettings, versions: Versions, link: str, page_url: str
) -> tuple[str, ...]:
    locale = _locale_of(settings, page_url)
    if link.startswith("/"):
        path = link if link.startswith(locale.base) else join_paths(locale.base, link)
        link = locale.origin + path
    home = _area(settings, versions, locale, page_url)
    return tuple(
        url
        for url in addresses_below(locale.origin + locale.base, link, page_url)
        if (area := _area(settings, versions, locale, url)) is not None
        and (area == home or (home is None and len(versions[area[0]]) == 1))
    )


def _locale_of(settings: DocusaurusSettings, page_url: str) -> Locale:
    own = [item for item in settings.locales if page_url.startswith(item.origin + item.base)]
    return max(own, key=lambda item: len(item.base), default=settings.locales[0])


def _area(
    settings: DocusaurusSettings, versions: Versions, locale: Locale, url: str
) -> tuple[str, str] | None:
    """The docs instance and the version that an address belongs to."""
    below = urlsplit(url).path.removeprefix(locale.base).strip("/")
    homes = [
        (plugin, route)
        for plugin in settings.plugins
        if not (route := plugin.route.strip("/")) or f"{below}/".startswith(f"{route}/")
    ]
    docs_last = sorted(homes, key=lambda home: (len(home[1]), home[0].kind == "docs"))
    if not docs_last or docs_last[-1][0].kind != "docs":
        return None
    plugin, route = docs_last[-1]
    rest = below[len(route) :].strip("/")
    folders = [(path.strip("/"), version) for version, path in versions[plugin.id].items()]
    within = [one for one in folders if not one[0] or f"{rest}/".startswith(f"{one[0]}/")]
    folder, version = max(within, key=lambda one: len(one[0]), default=("", None))
    made = _MADE_BY_THE_SITE.match(rest[len(folder) :].strip("/"))
    return None if version is None or made else (plugin.id, version)
