"""`surefind model`: models on this machine."""

from typing import TYPE_CHECKING, Annotated

import typer

from surefind.interfaces.cli.console import AsJson, note, show, show_json
from surefind.interfaces.cli.usage import examples

if TYPE_CHECKING:
    from surefind.adapters.onnx.recommended import RecommendedModel

app = typer.Typer(
    help="Download models, and list recommended ones.",
    epilog=examples(
        "surefind model fetch",
        "surefind model fetch intfloat/multilingual-e5-small",
        "surefind model list",
        page="commands/model/",
    ),
)


@app.command("fetch")
def fetch(
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="[ID]",
            help="A model of the hub, such as intfloat/multilingual-e5-small; by default the "
            "configured embedding model.",
        ),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help="The ONNX file, if not onnx/model.onnx.", show_default=False
        ),
    ] = None,
) -> None:
    """Download a model's files, verify them, and print their folder.

    Search and ingest download the configured model when they need it. Run this command to build an
    image or to prepare for working offline.
    """
    from surefind.bootstrap import fetch_model
    from surefind.settings import load

    show(str(fetch_model(load(), note, model, file)))


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List recommended models."""
    from surefind.bootstrap import recommended_models
    from surefind.settings import load

    models = recommended_models(load())
    if as_json:
        show_json([_json(model, downloaded=cached) for model, cached in models])
        return
    for model, cached in models:
        show(model.id + (" (downloaded)" if cached else ""))
        facts = f"{model.parameters} M parameters, {model.languages}, {model.licence}"
        show(f"    {_kind(model)}, {facts}")
        if model.score is not None:
            show(f"    {model.score.value:.4f} on {model.score.benchmark}")
    note("scores are nDCG@10; --json shows their sources")


def _kind(model: "RecommendedModel") -> str:
    return "reranker" if model.reranks else "embedder"


def _json(model: "RecommendedModel", *, downloaded: bool) -> dict[str, object]:
    score = model.score
    return {
        "id": model.id,
        "kind": _kind(model),
        "parameters_millions": model.parameters,
        "languages": model.languages,
        "licence": model.licence,
        "score": score
        and {"benchmark": score.benchmark, "nDCG@10": score.value, "source": score.source},
        "downloaded": downloaded,
    }
