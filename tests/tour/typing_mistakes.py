"""Chapter 6: what a tired person types, and what they learn from the error."""

from dataclasses import dataclass, field

from tour.tour import Tour


@dataclass(frozen=True)
class Mistake:
    """A command line; `says` lists what the message must contain for the person to go on."""

    line: tuple[str, ...]
    says: tuple[str, ...]
    code: int = 2
    environment: dict[str, str] = field(default_factory=dict)
    settings: str = ""


MISTAKES = (
    Mistake(("serach", "schedule"), ("serach", "search")),
    Mistake(("search", "holiday", "--topk", "3"), ("--topk", "--top-k")),
    Mistake(("search", "holiday", "--mode", "hibrid"), ("hibrid", "hybrid")),
    Mistake(("search", "holiday", "--collection", "dosc"), ("dosc", "docs", ".surefind")),
    Mistake(("search", "holiday", "--where", "verison=2"), ("verison", "version")),
    Mistake(("ingest", "handbok"), ("handbok", "handbook")),
    Mistake(("search", "holiday", "--top-k", "many"), ("many", "--top-k")),
    Mistake(("validate", "goldne.yaml"), ("goldne.yaml", "golden init")),
    Mistake(("settings",), ("SUREFIND_PROT", "SUREFIND_PORT"), environment={"SUREFIND_PROT": "9"}),
    Mistake(("search", "holiday"), ("max_token", "max_tokens"), settings="max_token = 300\n"),
    Mistake(("golden", "lint", "typed.yaml"), ("topk", "top_k")),
)


TYPED = "topk: 3\ntests:\n  - {test_id: a, query_text: How do I go on holiday?}\n"


def mistakes_are_explained(tour: Tour) -> None:
    (tour.home / "typed.yaml").write_text(TYPED)
    for mistake in MISTAKES:
        toml = tour.home / "surefind.toml"
        toml.write_text(mistake.settings)
        done = tour.run(*mistake.line, expecting=mistake.code, **mistake.environment)
        toml.unlink()
        said = " ".join((done.stdout + done.stderr).split())
        for words in mistake.says:
            tour.expect(f"the error names {words}", words in said, said)
        tour.expect("stdout stays empty", not done.stdout, done.stdout)


def a_question_needs_no_quotes(tour: Tour) -> None:
    done = tour.run("search", "how", "do", "I", "go", "on", "holiday", "--top-k", "1")
    tour.expect("it is answered as if it had quotes", "Go on holiday" in done.stdout, done.stdout)
