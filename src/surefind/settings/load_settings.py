"""Loads the settings, and explains what is wrong or has no effect."""

import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from surefind.contracts.request import problem_of
from surefind.errors import InputError
from surefind.settings.settings import Settings
from surefind.settings.surroundings import (
    DOTENV,
    OTHERS,
    PREFIX,
    TOML,
    ignored_in_dotenv,
    place_of,
    read_dotenv,
    read_toml,
    with_port,
)


def load(**given: Any) -> Settings:
    """Load the settings: `given`, then the environment, then the file; None means not given."""
    try:
        _check_names(given)
        return Settings(**with_port(given))
    except ValidationError as error:
        raise InputError(_explain(error, given)) from error
    except OSError as error:
        raise InputError(f"{error.filename} can't be read: {error.strerror}") from error


def notices_of(settings: Settings) -> dict[str, str]:
    """What is set but has no effect, by the name of the variable, and how to change that."""
    notices = {
        name: f"{name} is set but not used; to use it, set SUREFIND_EMBEDDER=cohere or "
        "SUREFIND_RERANKER=cohere"
        for name in settings.idle_keys
    }
    if settings.stores != "embedded":
        for name, reason in ignored_in_dotenv().items():
            notices[name] = f"{name} in {DOTENV} is ignored: {reason}"
    return notices


def environment_names() -> set[str]:
    """The settings that the environment of this process has, which other processes may lack."""
    services = _names_of_services()
    return {
        name for name, value in os.environ.items() if value and (name in services or _is_own(name))
    }


def _names_of_services() -> set[str]:
    """QDRANT_URL and the like, without our prefix."""
    return {str(field.validation_alias) for field in Settings.model_fields.values()}


def _is_own(variable: str) -> bool:
    return variable.startswith(PREFIX) and not OTHERS.fullmatch(variable)


def _check_names(given: Iterable[str]) -> None:
    """Reject unknown names, and names that would have no effect."""
    services = _names_of_services()
    known = Settings.model_fields.keys()
    wrong = [(name, name) for name in given if name not in Settings.model_fields]
    wrong += [
        (name, f"{name} in {TOML}") for name in read_toml() if name not in {*known, *services}
    ]
    for variable in (*os.environ, *read_dotenv()):
        name = variable.removeprefix(PREFIX).lower()
        if _is_own(variable) and name not in known:
            wrong.append((name, variable))
    for name, spelled in wrong:
        hint = ""
        for near in get_close_matches(name, known, n=1):
            meant = f"{PREFIX}{near.upper()}" if spelled.startswith(PREFIX) else near
            hint = f"did you mean {meant}? "
        raise InputError(
            f"Unknown setting: {spelled}; {hint}`surefind settings` lists all settings"
        )


def _explain(error: ValidationError, given: Mapping[str, Any]) -> str:
    """Names the setting and where it is set, but not its value, which may be a secret."""
    first = error.errors(include_url=False, include_input=False)[0]
    name = ".".join(str(part) for part in first["loc"])
    place = "" if given.get(name) is not None else place_of(str(first["loc"][0]))
    return f"the setting {name}: {problem_of(first)}{place and f'; it is set {place}'}"
