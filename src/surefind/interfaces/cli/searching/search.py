"""`surefind search`: find passages."""

import json
import shutil
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surefind.interfaces.cli.console import AsJson, Collection, DataDir, note, run, show, show_json
from surefind.interfaces.cli.searching.places import place_of
from surefind.interfaces.cli.usage import examples
from surefind.interfaces.search_options import SearchOptions, query_of
from surefind.model import AUTO_LANGUAGE, Collapse, Expand, GroupBy, Mode

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.model import Confidence, Hit, LegScore, SearchResult
    from surefind.services.search.why_not import WhyNot

_WIDTH, _INDENT = 96, 5
_LINES = 6

EXAMPLES = examples(
    "surefind search how do I undo",
    "surefind search timeout --where version=2.0 --top-k 10",
    "surefind search ERR_E42 --mode lexical --explain",
    page="searching/",
)


def search(
    question: Annotated[
        list[str], typer.Argument(help="The question or keywords; quotes are not needed.")
    ],
    top_k: Annotated[
        int, typer.Option("--top-k", "-k", metavar="1..1000", help="Number of passages.")
    ] = 5,
    threshold: Annotated[
        float, typer.Option(metavar="0..1", help="Minimum similarity.", show_default=False)
    ] = 0.0,
    mode: Annotated[
        Mode,
        typer.Option(
            help="dense: semantic search, lexical: keyword search, hybrid: both combined."
        ),
    ] = Mode.HYBRID,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            "-w",
            metavar="FILTER",
            help="Filter passages: key=value, key!=value, key>=number, key<date, key^=path. "
            "Repeat to combine conditions with AND; repeated key=value conditions are OR.",
        ),
    ] = None,
    group_by: Annotated[
        GroupBy | None,
        typer.Option(help="Return at most --group-size passages per document or section."),
    ] = None,
    group_size: Annotated[int, typer.Option(help="Maximum number of passages per group.")] = 1,
    diversity: Annotated[
        float,
        typer.Option(
            metavar="0..1", help="How strongly to prefer passages unlike the previous hits."
        ),
    ] = 0.0,
    collapse: Annotated[
        Collapse,
        typer.Option(
            help="Merge duplicates: identical texts and other versions of a page (same), "
            "also near-duplicates (near), or nothing (off)."
        ),
    ] = Collapse.SAME,
    expand: Annotated[
        Expand, typer.Option(help="Also show the text around each passage.")
    ] = Expand.NONE,
    neighbours: Annotated[
        int, typer.Option(help="With --expand: number of neighbours on each side.")
    ] = 1,
    max_tokens: Annotated[
        int | None, typer.Option(help="Token limit for all passages together; none is cut.")
    ] = None,
    rerank: Annotated[
        bool, typer.Option("--rerank", help="Reorder the hits with the configured reranker.")
    ] = False,
    history: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The conversation before the question: a JSON list of objects with role and "
            "content. - reads stdin.",
        ),
    ] = None,
    also_in: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Also search this collection; repeatable."),
    ] = None,
    language: Annotated[
        str,
        typer.Option(
            metavar="CODE|auto|any",
            help="Search only pages in this language; auto: in the language of the question, if "
            "there are any.",
        ),
    ] = AUTO_LANGUAGE,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show each hit's rank and score in both legs.")
    ] = False,
    why_not: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE",
            help="Explain why this chunk ID, URL or source path is not among the hits.",
        ),
    ] = None,
    collection: Collection = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Find the passages that answer a question."""
    options = SearchOptions(
        top_k=top_k,
        threshold=threshold,
        mode=mode,
        where=where or (),
        group_by=group_by,
        group_size=group_size,
        diversity=diversity,
        collapse=collapse,
        expand=expand,
        neighbours=neighbours,
        max_tokens=max_tokens,
        rerank=rerank,
        highlight=as_json,
        history=() if history is None else conversation_in(history),
        language=language,
    )

    async def work(application: "Application") -> "SearchResult | WhyNot":
        own = application.settings.collection
        query = query_of(
            " ".join(question), own, {**options, "collections": [own, *(also_in or ())]}
        )
        if why_not is not None:
            return await application.searching.why_not(query, why_not)
        return await application.searching.search(query)

    found = run(work, collection=collection, data_dir=data_dir)
    from surefind.model import SearchResult

    if isinstance(found, SearchResult):
        _show(found, as_json=as_json, explain=explain)
    else:
        _show_cause(found, as_json=as_json)


def conversation_in(path: Path) -> list[Any]:
    """The turns in a JSON file; InputError if it is not a list."""
    from surefind.errors import InputError

    name = "stdin" if str(path) == "-" else str(path)
    try:
        content = sys.stdin.buffer.read() if name == "stdin" else path.read_bytes()
        turns = json.loads(content)
    except OSError as error:
        raise InputError(f"--history {name} can't be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"--history {name} is not valid JSON: {error}") from error
    if not isinstance(turns, list):
        raise InputError(f"--history {name} must be a JSON list of turns")
    return turns


def _show(result: "SearchResult", *, as_json: bool, explain: bool) -> None:
    if as_json:
        from surefind.interfaces.json_output.search import search_json

        show_json(search_json(result))
        return
    for hit in result.hits:
        show(passage(hit, explain=explain))
    if explain and result.confidence is not None:
        note(evidence(result.confidence, result.best_similarity or 0.0))
    note(closing(result))


def evidence(confidence: "Confidence", best_similarity: float) -> str:
    """Explains the confidence that an answer exists."""
    source = "golden tests" if confidence.learned else "the collection's own sentences"
    return (
        f"confidence {confidence.value:.2f} ({confidence.evidence.value} evidence): best "
        f"similarity {best_similarity:.3f}; an answer is likely from {confidence.threshold:.3f}, "
        f"based on {source}"
    )


def _show_cause(answer: "WhyNot", *, as_json: bool) -> None:
    if as_json:
        from surefind.interfaces.json_output.search import why_not_json

        show_json(why_not_json(answer))
        return
    show(f"{answer.cause.value.replace('_', ' ')}: {answer.message}")
    if answer.record is not None:
        similarity = "" if answer.similarity is None else f", similarity {answer.similarity:.3f}"
        show(f"     {place_of(answer.record)}\n     chunk {answer.record.chunk.id}{similarity}")
    for hit in answer.ahead:
        name = hit.record.breadcrumb or hit.record.chunk.source_path
        show(f"     ranked higher: {hit.rank}. {name} (score {hit.score:.3f})")


def passage(hit: "Hit", *, explain: bool = False) -> str:
    from surefind.text.html.to_markdown import readable

    record = hit.record
    similarity = "" if hit.similarity is None else f", similarity {hit.similarity:.3f}"
    text = readable(record.chunk.text if hit.context is None else hit.context.text)
    columns = shutil.get_terminal_size(fallback=(_WIDTH + _INDENT, 0)).columns
    width = max(min(_WIDTH, columns - _INDENT), _INDENT)
    lines = [
        line for paragraph in text.splitlines() for line in textwrap.wrap(paragraph, width) or [""]
    ]
    most = _LINES if hit.context is None else len(lines)
    shown = [f"     {line}".rstrip() for line in lines[:most]]
    if len(lines) > most:
        shown.append("     …")
    also = [
        f"     also {place_of(same)} {same.version} {same.locale}".rstrip() for same in hit.also
    ]
    return "\n".join(
        (
            f"{hit.rank:>2}.  {record.breadcrumb or record.chunk.source_path}",
            f"     {place_of(record)}",
            f"     score {hit.score:.3f}{similarity}, chunk {record.chunk.id}",
            *(_explained(hit) if explain else ()),
            *also,
            *(f"     ! {flaw}" for flaw in record.flaws),
            "",
            *shown,
            "",
        )
    )


def _explained(hit: "Hit") -> list[str]:
    lines = []
    for name, leg in (("dense", hit.dense), ("lexical", hit.lexical)):
        if leg is not None:
            lines.append(f"       {name:<8} {_leg(leg)}")
    if hit.page is not None:
        lines.append(
            f"       page     own {hit.page.own:.3f}, other passages {hit.page.passages:.3f}, "
            f"title and address {hit.page.names:.3f}"
        )
    if hit.exact_heading:
        lines.append("       raised, because the query is its heading")
    if hit.weight != 1.0:
        kind = hit.record.attributes.get("kind", "page")
        lines.append(f"       multiplied by {hit.weight:.2f}, because the page is of kind {kind}")
    if hit.reranking is not None:
        lines.append(
            f"       reranked from rank {hit.reranking.rank_before}, reranker score "
            f"{hit.reranking.score:.3f}"
        )
    return lines


def _leg(leg: "LegScore") -> str:
    rank = "not found" if leg.rank is None else f"rank {leg.rank}"
    return f"score {leg.score:.4f}, {rank}, contributes {leg.share:.3f}"


def closing(result: "SearchResult") -> str:
    where = f"generation {result.generation} of {result.query.collection}, {result.chunks} chunks"
    if not result.chunks:
        return f"the collection is empty ({where})"
    if result.hits:
        count = len(result.hits)
        passages = "1 passage" if count == 1 else f"{count} passages"
        return f"{passages} in {result.timings.total_ms:.0f} ms ({where}){_caveats(result)}"
    if result.over_budget:
        return f"no passage fits within {result.query.max_tokens} tokens ({where})"
    if result.query.where and result.best_similarity is None:
        words = "no passage matches the filter and any of the query's words"
        return f"{words} ({where}){_caveats(result)}"
    if result.best_similarity is not None:
        return (
            f"no passage reaches the threshold of {result.query.threshold}; "
            f"the best similarity is {result.best_similarity:.3f} ({where})"
        )
    return f"no passage contains any of the query's words ({where})"


def _caveats(result: "SearchResult") -> str:
    caveats = "".join(f"; {note}" for note in result.notes)
    if result.over_budget:
        caveats += (
            f"; {len(result.over_budget)} more did not fit within {result.query.max_tokens} tokens"
        )
    if result.confidence is not None and result.confidence.evidence == "thin":
        caveats += "; the evidence is thin: this collection may not contain the answer"
    return caveats
