"""Chapter 4: golden tests, a validation and its report."""

from tour.tour import Tour

REPORT = "report.html"


def write_golden_tests(tour: Tour) -> None:
    tour.run("golden", "init")
    question = "How do I keep the pipes from freezing?"
    tour.run("golden", "add", question, "--pick", "1", "--category", "holiday")
    text = (tour.home / "golden.yaml").read_text()
    tour.expect("the new test is in the file", question in text, text)
    lint = tour.run("golden", "lint")
    tour.expect("the proposed tests have no errors", ", 0 errors" in lint.stdout, lint.stdout)


def validate(tour: Tour) -> None:
    options = ("--html", REPORT, "--save-baseline", "baseline.json")
    done = tour.run("validate", "golden.yaml", *options)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    said_first = " ".join(lines[:4]).lower()
    tour.expect("the verdict comes first", "passed" in said_first, "\n".join(lines[:8]))
    compared = tour.run("validate", "golden.yaml", "--baseline", "baseline.json")
    tour.expect("a second run is no worse", "no change" in compared.stdout, compared.stdout[-800:])
    report = (tour.home / REPORT).read_text()
    tour.expect("the report loads nothing from elsewhere", 'src="http' not in report)


def a_failed_run_says_so_first(tour: Tour) -> None:
    failing = tour.home / "failing.yaml"
    failing.write_text(
        "tests:\n  - {test_id: a, query_text: How do I go on holiday?, "
        "expected_results: [{text: A sensor has not answered}]}\n"
        "  - {test_id: b, query_text: ember backup, expected_results: [{text: all settings}]}\n"
    )
    done = tour.run("validate", "failing.yaml", "--top-k", "1", expecting=1)
    first = " ".join([line for line in done.stdout.splitlines() if line.strip()][:4])
    tour.expect("the verdict comes first", "failed" in first.lower(), done.stdout)
    tour.expect("nothing above it claims success", "100" not in first, done.stdout)
