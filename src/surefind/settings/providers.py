"""The embedders and rerankers that a setting can name: surefind's own, and those of packages.

A package offers one by an entry point, a function that takes the Settings:

    [project.entry-points."surefind.embedders"]
    acme = "acme_embeddings:embedder"
"""

from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points


@dataclass(frozen=True, slots=True)
class ProviderKind:
    """`own` are the names that surefind itself implements; no package can replace them."""

    setting: str
    own: tuple[str, ...]
    group: str

    def installed(self, name: str) -> list[EntryPoint]:
        """The entry points of that name; several if packages disagree."""
        return list(entry_points(group=self.group, name=name))

    def check(self, name: str) -> str:
        """The name; ValueError if nothing implements it."""
        if name not in self.own and not self.installed(name):
            packages = sorted(entry_points(group=self.group).names - {*self.own})
            raise ValueError(
                f"there is no {self.setting} {name!r}; choose one of "
                f"{', '.join((*self.own, *packages))}, or install the package that provides it"
            )
        return name


EMBEDDERS = ProviderKind("embedder", ("local", "onnx", "cohere", "openai"), "surefind.embedders")
RERANKERS = ProviderKind("reranker", ("none", "onnx", "http", "cohere"), "surefind.rerankers")
