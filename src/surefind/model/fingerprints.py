"""Identifies the model that produced a vector."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EmbedderFingerprint:
    """Two embedders with equal fingerprints give the same vectors for the same text."""

    provider: str
    model: str
    dimensions: int
    weights: str
    input_types: str

    def __str__(self) -> str:
        return f"{self.provider}/{self.model} ({self.dimensions} dimensions, {self.weights[:12]})"
