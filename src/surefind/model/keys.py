"""Keys: who may ask a server, and for what."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Scope(StrEnum):
    """`admin` may do what `read` may, and change what readers see."""

    READ = "read"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class ApiKey:
    """What is kept of a key: its digest, never the key itself."""

    id: str
    name: str
    scope: Scope
    created_at: datetime
    digest: str
