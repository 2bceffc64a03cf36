"""How commands are described and misuse is reported: help texts, examples and usage errors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter, Parameter

DOCUMENTATION = "https://surefind.github.io/surefind/"
INVALID_USAGE = 2
_Value: TypeAlias = TyperArgument | TyperOption

_TYPES = {
    "str": "TEXT",
    "list[str]": "TEXT",
    "int": "INTEGER",
    "float": "NUMBER",
    "path": "PATH",
    "file": "FILE",
}
_QUOTED = re.compile(r"'([^']+)'")
_PLAIN = (
    (re.compile(r"No such option: (\S+)"), r"unknown option \1"),
    (re.compile(r"No such command '([^']*)'"), r"unknown command \1"),
    (re.compile(r"Got unexpected extra argument\(s\) \((.*)\)"), r"unexpected argument: \1"),
    (re.compile(r"Option '(\S+)' requires an argument"), r"\1 needs a value"),
    (re.compile(r"Option '(\S+)' does not take a value"), r"\1 takes no value"),
    (re.compile(r"Missing command"), r"the command is missing"),
)


def examples(*commands: str, page: str = "") -> str:
    """The end of a command's help: what to type, and where its documentation is."""
    lines = ["\b", "Examples:", *(f"  {command}" for command in commands)]
    return "\n".join([*lines, "", f"Documentation: {DOCUMENTATION}{page}"])


def describe_commands(app: typer.Typer) -> None:
    """Let all commands and groups of the app print their help in the style of this module."""
    app.info.cls = Group
    for command in app.registered_commands:
        command.cls = Command
    for group in app.registered_groups:
        if group.typer_instance is not None:
            describe_commands(group.typer_instance)


class Command(TyperCommand):
    """A command whose help shows types as people write them, such as TEXT or 1..1000."""

    def collect_usage_pieces(self, ctx: Context) -> list[str]:
        arguments = [one for one in self.get_params(ctx) if isinstance(one, TyperArgument)]
        return [self.options_metavar or "", *map(_usage_of, arguments)]

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        _write_parameters(self.get_params(ctx), ctx, formatter)


class Group(TyperGroup):
    """A group of commands. Without a command, it prints its help."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help(), err=True)
            ctx.exit(INVALID_USAGE)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        _write_parameters(self.get_params(ctx), ctx, formatter)


def usage_error(error: typer.TyperException) -> str:
    """One line in the style of all errors: what is wrong, and where to look it up."""
    context: Context | None = getattr(error, "ctx", None)
    reason, _, meant = _reason(error, context).partition(". Did you mean ")
    possible: Sequence[str] = getattr(error, "possibilities", None) or _QUOTED.findall(meant)
    if possible:
        return f"{reason}; did you mean {_either(sorted(possible))}?"
    command = "surefind" if context is None else context.command_path
    return f"{reason}; `{command} --help` explains the usage"


def _reason(error: typer.TyperException, context: Context | None) -> str:
    parameter = getattr(error, "param", None)
    if isinstance(parameter, _Value) and context is not None:
        if parameter.required and not error.message:
            return f"{_name_of(parameter)} is missing"
        expected = _expected(parameter, context)
        return f"{_name_of(parameter)} must be {expected}{_instead(error.__cause__)}"
    reason = error.message.rstrip(".")
    for pattern, plain in _PLAIN:
        reason = pattern.sub(plain, reason)
    return reason


def _instead(cause: BaseException | None) -> str:
    """The value that was given, which errors of the parser keep only in their cause."""
    from pydantic import ValidationError

    from surefind.evaluation.report.wording import in_short

    if not isinstance(cause, ValidationError):
        return ""
    return f", not {in_short(str(cause.errors(include_url=False)[0]['input']))}"


def _expected(parameter: _Value, context: Context) -> str:
    label = _label(parameter, context)
    if parameter.type_descriptor.is_choice:
        return _either(label.split("|"))
    least = "" if parameter.min is None else f" of at least {parameter.min}"
    return {"INTEGER": f"an integer{least}", "NUMBER": f"a number{least}"}.get(label, label)


def _either(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def _write_parameters(
    parameters: Sequence[Parameter], ctx: Context, formatter: HelpFormatter
) -> None:
    arguments, options = [], []
    for one in parameters:
        if isinstance(one, TyperArgument):
            arguments.append((_name_of(one), _help_of(one)))
        elif isinstance(one, TyperOption) and not one.hidden:
            options.append((_spelling(one, ctx), _help_of(one)))
    for title, rows in (("Arguments", arguments), ("Options", options)):
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)


def _usage_of(argument: TyperArgument) -> str:
    name = _name_of(argument) + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _name_of(parameter: _Value) -> str:
    if isinstance(parameter, TyperArgument):
        return parameter.metavar or parameter.name.upper()
    return max(parameter.opts, key=len)


def _spelling(option: TyperOption, ctx: Context) -> str:
    """`-k, --top-k 1..1000`, or `--docs / --no-docs`."""
    spelled = ", ".join(sorted(option.opts, key=len))
    if option.secondary_opts:
        return f"{spelled} / {', '.join(option.secondary_opts)}"
    return spelled if option.is_flag else f"{spelled} {_label(option, ctx)}"


def _label(parameter: _Value, ctx: Context) -> str:
    if isinstance(parameter, TyperOption) and parameter.metavar:
        return parameter.metavar
    if None not in (parameter.min, parameter.max):
        return f"{parameter.min}..{parameter.max}"
    label = parameter.display_type(ctx).strip("<>").removesuffix(" range")
    return _TYPES.get(label, label)


def _help_of(parameter: _Value) -> str:
    """The help, followed by the default unless the help says it."""
    default = parameter.default
    is_flag = isinstance(parameter, TyperOption) and parameter.is_flag
    if is_flag or parameter.show_default is False or default in (None, ""):
        return parameter.help or ""
    shown = default.value if isinstance(default, Enum) else default
    return f"{parameter.help} [default: {shown}]"
