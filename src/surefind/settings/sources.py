"""Where settings are read from, for pydantic-settings."""

from typing import Any

from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    EnvSettingsSource,
    InitSettingsSource,
)

from surefind.settings.surroundings import ADDRESS_OF_KUBERNETES, ignored_in_dotenv, own_name


class Environment(EnvSettingsSource):
    """The environment, ignoring the address that Kubernetes sets as SUREFIND_PORT."""

    def __call__(self) -> dict[str, Any]:
        values = super().__call__()
        if ADDRESS_OF_KUBERNETES.match(str(values.get("port", ""))):
            del values["port"]
        return values


class DotEnv(DotEnvSettingsSource):
    """The file .env, without addresses that are probably another program's."""

    def __call__(self) -> dict[str, Any]:
        ignored = ignored_in_dotenv()
        return {name: value for name, value in super().__call__().items() if name not in ignored}


class OwnNames(InitSettingsSource):
    """SUREFIND_DATABASE_URL and the like, which win over names that other programs use too."""

    def __init__(self, settings_cls: type[BaseSettings]) -> None:
        aliases = (field.validation_alias for field in settings_cls.model_fields.values())
        found = {str(alias): own_name(str(alias)) for alias in aliases if alias}
        super().__init__(settings_cls, {name: value for name, value in found.items() if value})
