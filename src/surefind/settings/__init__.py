"""Settings, in rising precedence: surefind.toml, SUREFIND_* (also in .env), arguments."""

from surefind.settings.load_settings import environment_names, load, notices_of
from surefind.settings.settings import Settings
from surefind.settings.surroundings import DOTENV, TOML, check_platform_port, origin_of

__all__ = [
    "DOTENV",
    "TOML",
    "Settings",
    "check_platform_port",
    "environment_names",
    "load",
    "notices_of",
    "origin_of",
]
