"""`surefind settings`: list the settings and their values."""

from surefind.errors import without_passwords
from surefind.interfaces.cli.console import AsJson, note, show, show_json
from surefind.interfaces.cli.usage import examples

EXAMPLES = examples(
    "surefind settings",
    "surefind settings --json",
    page="settings/",
)


def settings(as_json: AsJson = False) -> None:
    """List every setting with its current value. Secrets are masked."""
    from surefind.settings import Settings, load, notices_of

    values = load()
    for notice in notices_of(values).values():
        note(notice)
    rows = {
        str(field.validation_alias or f"SUREFIND_{name.upper()}"): (
            _shown(getattr(values, name)),
            field.description or "",
        )
        for name, field in Settings.model_fields.items()
    }
    if as_json:
        show_json(
            {name: None if value is None else str(value) for name, (value, _) in rows.items()}
        )
        return
    for name, (value, description) in rows.items():
        shown = "not set" if value is None else str(value)
        show(f"{name:<26} {shown}" + (f"\n{'':<26}   {description}" if description else ""))


def _shown(value: object) -> object:
    """The value as text; a connection is shown by its name."""
    if isinstance(value, tuple):
        value = ", ".join(getattr(one, "name", str(one)) for one in value) or None
    return without_passwords(value) if isinstance(value, str) else value
