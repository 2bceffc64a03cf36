"""API keys and what they permit."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Scope(StrEnum):
    """`admin` permits everything that `read` does, and changing what is published."""

    READ = "read"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A stored key: only its digest, never the key itself."""

    id: str
    name: str
    scope: Scope
    created_at: datetime
    digest: str
