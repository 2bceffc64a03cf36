"""`surefind search`: a question in, passages out."""

import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

from surefind.interfaces.cli.console import AsJson, Collection, DataDir, note, run, show, show_json
from surefind.interfaces.search_options import SearchOptions, query_of
from surefind.model import Collapse, Expand, GroupBy, Mode

if TYPE_CHECKING:
    from surefind.bootstrap import Application
    from surefind.model import Confidence, Hit, LegScore, SearchResult
    from surefind.services.search.why_not import WhyNot

_WIDTH = 96
_LINES = 6


def search(
    question: Annotated[str, typer.Argument(help="What to look for, in plain words.")],
    top_k: Annotated[int, typer.Option("--top-k", "-k", help="How many passages, 1 to 1000.")] = 5,
    threshold: Annotated[
        float, typer.Option(help="Leave out what is less similar than this, 0.0 to 1.0.")
    ] = 0.0,
    mode: Annotated[
        Mode, typer.Option(help="hybrid fuses meaning and words; dense and lexical are one alone.")
    ] = Mode.HYBRID,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            "-w",
            help="Only passages that meet this: key=value, key!=value, key>=number, key<date, "
            "key^=path. Several must all hold; one key with = twice may be either.",
        ),
    ] = None,
    group_by: Annotated[
        GroupBy | None,
        typer.Option(help="At most --group-size passages of one document or section."),
    ] = None,
    group_size: Annotated[int, typer.Option(help="Passages of one group.")] = 1,
    diversity: Annotated[
        float,
        typer.Option(help="How much to prefer what is unlike the hits before it, 0.0 to 1.0."),
    ] = 0.0,
    collapse: Annotated[
        Collapse,
        typer.Option(
            help="Passages shown once: equal texts and versions of a page (same), "
            "near copies too (near), or none (off)."
        ),
    ] = Collapse.SAME,
    expand: Annotated[
        Expand, typer.Option(help="Show what stands around each passage too.")
    ] = Expand.NONE,
    neighbours: Annotated[int, typer.Option(help="How many on each side, for --expand.")] = 1,
    max_tokens: Annotated[
        int | None, typer.Option(help="At most so many tokens altogether, in whole passages.")
    ] = None,
    rerank: Annotated[
        bool, typer.Option("--rerank", help="Let the configured reranker have the last word.")
    ] = False,
    also_in: Annotated[
        list[str] | None, typer.Option(help="Search this collection too; may be given again.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show each leg's rank, score and share of every hit.")
    ] = False,
    why_not: Annotated[
        str | None,
        typer.Option(help="Say why this chunk, address or source path is not among the hits."),
    ] = None,
    collection: Collection = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Find the passages that a question is about."""
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
    )

    async def work(application: "Application") -> "SearchResult | WhyNot":
        own = application.settings.collection
        query = query_of(question, own, {**options, "collections": [own, *(also_in or ())]})
        if why_not is not None:
            return await application.searching.why_not(query, why_not)
        return await application.searching.search(query)

    found = run(work, collection=collection, data_dir=data_dir)
    from surefind.model import SearchResult

    if isinstance(found, SearchResult):
        _show(found, as_json=as_json, explain=explain)
    else:
        _show_cause(found, as_json=as_json)


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
    """How the evidence for an answer was judged."""
    source = "golden tests" if confidence.learned else "the collection's own sentences"
    return (
        f"confidence {confidence.value:.2f}, {confidence.evidence.value}: the best similarity is "
        f"{best_similarity:.3f}, and from {confidence.threshold:.3f} on an answer is likely, "
        f"by {source}"
    )


def _show_cause(answer: "WhyNot", *, as_json: bool) -> None:
    if as_json:
        from surefind.interfaces.json_output.search import why_not_json

        show_json(why_not_json(answer))
        return
    show(f"{answer.cause.value.replace('_', ' ')}: {answer.message}")
    if answer.record is not None:
        similarity = "" if answer.similarity is None else f", similarity {answer.similarity:.3f}"
        show(f"     {answer.record.link}\n     chunk {answer.record.chunk.id}{similarity}")
    for hit in answer.ahead:
        name = hit.record.breadcrumb or hit.record.chunk.source_path
        show(f"     before it: {hit.rank}. {name} (score {hit.score:.3f})")


def passage(hit: "Hit", *, explain: bool = False) -> str:
    from surefind.text.html.to_markdown import readable

    record = hit.record
    similarity = "" if hit.similarity is None else f", similarity {hit.similarity:.3f}"
    text = readable(record.chunk.text if hit.context is None else hit.context.text)
    lines = [
        line for paragraph in text.splitlines() for line in textwrap.wrap(paragraph, _WIDTH) or [""]
    ]
    most = _LINES if hit.context is None else len(lines)
    shown = [f"     {line}".rstrip() for line in lines[:most]]
    if len(lines) > most:
        shown.append("     …")
    also = [f"     also {same.link} {same.version} {same.locale}".rstrip() for same in hit.also]
    return "\n".join(
        (
            f"{hit.rank:>2}.  {record.breadcrumb or record.chunk.source_path}",
            f"     {record.link or record.chunk.source_path}",
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
    if hit.weight != 1.0:
        kind = hit.record.attributes.get("kind", "page")
        lines.append(f"       weighed by {hit.weight:.2f}, as a page of the kind {kind}")
    if hit.reranking is not None:
        lines.append(
            f"       reranked from {hit.reranking.rank_before} by a score of "
            f"{hit.reranking.score:.3f}"
        )
    return lines


def _leg(leg: "LegScore") -> str:
    rank = "not found by this leg" if leg.rank is None else f"rank {leg.rank}"
    return f"score {leg.score:.4f}, {rank}, share of the score {leg.share:.3f}"


def closing(result: "SearchResult") -> str:
    where = f"generation {result.generation} of {result.query.collection}, {result.chunks} chunks"
    if not result.chunks:
        return f"the collection is empty ({where})"
    if result.hits:
        count = len(result.hits)
        passages = "1 passage" if count == 1 else f"{count} passages"
        told = f"{passages} in {result.timings.total_ms:.0f} ms ({where})"
        return told + _doubts(result)
    if result.over_budget:
        return f"no passage fits into {result.query.max_tokens} tokens ({where})"
    if result.query.where and result.best_similarity is None:
        return f"no passage meets the filter and has one of the words ({where})"
    if result.best_similarity is not None:
        return (
            f"nothing reaches the threshold {result.query.threshold}; "
            f"the best similarity is {result.best_similarity:.3f} ({where})"
        )
    return f"none of the words occurs ({where})"


def _doubts(result: "SearchResult") -> str:
    doubts = "".join(f"; {told}" for told in result.notes)
    if result.over_budget:
        doubts += (
            f"; {len(result.over_budget)} more did not fit into {result.query.max_tokens} tokens"
        )
    if result.confidence is not None and result.confidence.evidence == "thin":
        doubts += "; the evidence is thin: the answer may not be in this collection"
    return doubts
