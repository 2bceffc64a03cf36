"""`surefind connect`: search a collection that another tool has filled."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from surefind.interfaces.cli.console import (
    AsJson,
    DataDir,
    confirm,
    note,
    progress_display,
    run,
    show,
    show_json,
)
from surefind.interfaces.cli.usage import examples
from surefind.interfaces.failures import FAILED

if TYPE_CHECKING:
    from rich.table import Table

    from surefind.bootstrap import Application
    from surefind.mapping.inference import RoleChoice
    from surefind.services.connected.connect import Proposal

EXAMPLES = examples(
    "surefind connect --collection pages --url https://host:6333",
    "surefind connect --collection pages --map text=metadata.body",
    page="connect/",
)


def connect(
    collection: Annotated[
        str,
        typer.Option("--collection", "-c", metavar="NAME", help="The collection's name in Qdrant."),
    ],
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The URL of the Qdrant server. [default: QDRANT_URL]"),
    ] = None,
    vector: Annotated[
        str | None, typer.Option(help="The vector to search, if points have several.")
    ] = None,
    map_: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="ROLE=KEY",
            help="Set the payload key of a role, such as text=metadata.body; repeatable.",
        ),
    ] = None,
    documents_table: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="A PostgreSQL table to join to the chunks; empty for none. "
            "[default: documents, if DATABASE_URL has a matching table]",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="NAME",
            help="The name to use in surefind. [default: the collection's name]",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Save without asking.")] = False,
    allow_mixed: Annotated[
        bool,
        typer.Option("--allow-mixed", help="Save even if another model made some of the vectors."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the result without saving it.")
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Connect a collection that another tool has filled.

    Detects how to search it, and saves the connection in surefind.toml. The collection itself is
    never modified.

    Exit codes: 0 saved or shown, 1 another model made some of the vectors, 2 invalid input or
    another model made all of them, 4 a store or service is unavailable.
    """
    from surefind.errors import InputError
    from surefind.services.connected.connect import ConnectOptions, read_map
    from surefind.services.generations.index_building import Progress

    local_name = name or collection
    options = ConnectOptions(
        local_name, collection, url or "", vector, read_map(map_ or []), documents_table
    )

    with progress_display() as display:

        async def work(application: "Application") -> "Proposal":
            if await application.connecting.is_own(local_name):
                raise InputError(
                    f"surefind already has its own collection {local_name!r}; choose another name "
                    "with --as"
                )
            return await application.connecting.propose(
                options, lambda done, total: display(Progress("embedded", done, total))
            )

        proposal = run(work, data_dir=data_dir)
    if as_json:
        from surefind.interfaces.cli.maintenance.connected_json import proposal_json

        show_json(proposal_json(proposal))
    else:
        _show(proposal)
    if not proposal.usable:
        raise InputError(
            f"collection {collection!r}: {proposal.identity.reason}; nothing was saved"
        )
    _check_mixed(proposal, allowed=allow_mixed, ask=not (yes or dry_run or as_json))
    if dry_run:
        note("dry run, nothing was saved")
    elif yes or _agreed(proposal, as_json=as_json):
        _save(proposal)
    elif proposal.mixed:
        note("nothing was saved")
        raise typer.Exit(FAILED)
    else:
        note("nothing was saved")


def _check_mixed(proposal: "Proposal", *, allowed: bool, ask: bool) -> None:
    """A mixed collection needs --allow-mixed, or the user's consent after seeing the verdict."""
    from surefind.errors import GuardStopped

    if not proposal.mixed or allowed or (ask and _is_interactive()):
        return
    raise GuardStopped(
        f"collection {proposal.facts.name!r} is mixed: your model made only some of its vectors; "
        "nothing was saved. Re-embed the other passages, or use --allow-mixed to connect it anyway"
    )


def _is_interactive() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _agreed(proposal: "Proposal", *, as_json: bool) -> bool:
    from surefind.errors import InputError

    if as_json or not _is_interactive():
        raise InputError(
            "there is no terminal to ask for confirmation; add --yes to save, "
            "or --dry-run to preview"
        )
    if proposal.mixed:
        return confirm("Save it anyway?", default=False)
    return confirm("Save this in surefind.toml?", default=True)


def _save(proposal: "Proposal") -> None:
    from surefind.adapters.files.connection_table import save_connection
    from surefind.settings import TOML

    name = proposal.connection.name
    save_connection(proposal.connection, TOML)
    note(f'saved as [connected.{name}] in {TOML}; try: surefind search -c {name} "a question"')


def _show(proposal: "Proposal") -> None:
    from rich.console import Console

    facts, connection = proposal.facts, proposal.connection
    sampled = proposal.inference.points
    show(f"{facts.name}: {facts.points} points, {sampled} sampled")
    show(f"vector: {connection.space}; {connection.scoring}")
    show("")
    console = Console(width=None if sys.stdout.isatty() else 100)
    console.print(_table(proposal))
    for choice in proposal.inference.choices:
        if choice.keys and choice.runners_up:
            others = ", ".join(f"{fit.path} ({fit.score:.2f})" for fit in choice.runners_up)
            show(f"  not {choice.role}: {others}")
    show("")
    show(f"model: {proposal.identity.verdict}: {proposal.identity.reason}")
    if proposal.mixed and proposal.identity.counts is not None:
        for one in proposal.identity.counts.examples:
            show(f"  point {one.label}: cosine {one.cosine:.3f}")
    if proposal.join is not None:
        show(f"joined: {proposal.join}; it supplies the path, slug and title of each hit")
    for limit in proposal.limits:
        show(f"limit: {limit}")
    for doubt in proposal.doubts:
        if doubt != proposal.identity.reason:
            show(f"doubt: {doubt}")


def _table(proposal: "Proposal") -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in ("role", "key", "fit", "evidence"):
        table.add_column(title, overflow="fold")
    table.add_column("example", no_wrap=True, overflow="ellipsis", max_width=34)
    for choice in proposal.inference.choices:
        table.add_row(*_row(choice))
    return table


def _row(choice: "RoleChoice") -> tuple[str, ...]:
    from rich.markup import escape

    if not choice.keys:
        return choice.role.value, "none", "", "no matching key", ""
    fit = "given" if choice.given else f"{choice.score:.2f}" + (" ?" if choice.ambiguous else "")
    return (
        choice.role.value,
        escape(" or ".join(choice.keys)),
        fit,
        escape(", ".join(choice.evidence)),
        escape(choice.example),
    )
