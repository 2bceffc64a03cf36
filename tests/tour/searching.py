"""Chapter 2: ten questions, and what a reader expects of the answers."""

import re

from tour.tour import Tour

QUESTIONS = {
    "how do I connect the wires?": "Wire the controller",
    "install on a Mac": "Install the command",
    "E04": "E04: no answer from the boiler",
    "why is the pressure so low?": "E27: pressure too low",
    "which file says when the bathroom is warm?": "Add a schedule",
    "do the pipes freeze while we are away?": "Go on holiday",
    "keep my settings when I replace the controller": "ember backup",
    "call a url when it gets cold": "Get a webhook when a room is cold",
    "read temperatures from javascript": "Read the temperatures",
    "the battery of a sensor is empty": "E11: a sensor is missing",
}
"""Each with the section that answers it."""

_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def ask_ten_questions(tour: Tour) -> None:
    for question, section in QUESTIONS.items():
        found = [hit["section"] for hit in tour.search(question)["hits"]]
        tour.expect(
            f"{question!r} finds {section!r} in the first three", section in found[:3], found
        )


def every_heading_finds_its_section(tour: Tour) -> None:
    for page in sorted((tour.home / "handbook").rglob("*.md*")):
        if page.name == "CHANGELOG.md":
            continue
        prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        for heading in _HEADING.findall(prose):
            hits = tour.search(heading)["hits"][:3]
            found = [(hit["title"], hit["section"]) for hit in hits]
            tour.expect(
                f"the heading {heading!r} finds its section in the first three",
                any(heading in titles for titles in found),
                found,
            )


def release_notes_do_not_win(tour: Tour) -> None:
    for question in ("install Ember on macOS", "how do I update Ember?", "go on holiday"):
        hits = tour.search(question)["hits"]
        first = hits[0]["source_path"] if hits else ""
        tour.expect(
            f"{question!r} is not answered by the changelog", "CHANGELOG" not in first, first
        )


def confidence_separates_answers_from_misses(tour: Tour) -> None:
    for question in ("E04", "E27: pressure too low", "how do I connect the wires?"):
        confidence = tour.search(question)["confidence"]
        tour.expect(
            f"the evidence for {question!r} is not thin",
            confidence["evidence"] not in {"thin", "none"},
            confidence,
        )
    for question in ("How do I install Kubernetes?", "SELECT * FROM users"):
        confidence = tour.search(question)["confidence"]
        tour.expect(
            f"the evidence for {question!r} is thin",
            confidence["evidence"] in {"thin", "none"},
            confidence,
        )


def hits_lead_to_a_file_and_line(tour: Tour) -> None:
    done = tour.run("search", "E04", "--top-k", "1")
    place = done.stdout.splitlines()[1].strip() if done.stdout else ""
    tour.expect(
        "without a site, the command names the file and its line",
        re.fullmatch(r"handbook/reference/errors\.md:\d+", place),
        done.stdout,
    )
    tour.expect("no link names a server that is not running", "localhost" not in done.stdout)


def a_missing_passage_is_explained(tour: Tour) -> None:
    for name in ("errors.md", "handbook/reference/errors.md", "reference/errors"):
        done = tour.run("search", "holiday", "--top-k", "1", "--why-not", name)
        said = done.stdout + done.stderr
        tour.expect(f"--why-not understands {name}", "rank" in said, said)
