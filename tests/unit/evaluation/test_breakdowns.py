"""Groups of tests: by the folder, version and locale of what they expect, and by length."""

from support.fakes import record
from surefind.evaluation.golden.expectations import ByAddress, ByChunk, BySource, Expectation
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest, TestKind
from surefind.evaluation.golden.resolution import PagePlace, Resolver
from surefind.evaluation.report.breakdowns import MOST_GROUPS, OTHERS, SEVERAL, groups_of
from surefind.interfaces.reports.html import html_page
from surefind.interfaces.reports.markdown import markdown
from surefind.interfaces.reports.terminal import terminal
from surefind.model import TargetAnswer, TargetHit, TargetQuery
from surefind.services.validation.run_request import RunRequest
from surefind.services.validation.targets.target_run import run_on_target

FILLER = tuple(GoldenTest(f"none{n}", "who sings", TestKind.NEGATIVE) for n in range(10))


def test_folders_come_from_paths_and_urls() -> None:
    tests = (
        GoldenTest("a", "x", expected=(BySource("docs/guide/power.md"),)),
        GoldenTest("b", "x", expected=(ByAddress("https://docs.example.com/api/v1/power.html"),)),
        GoldenTest("c", "x", expected=(BySource("docs/a.md"), BySource("blog/b.md"))),
        GoldenTest("d", "x", expected=(ByChunk("d-1"),)),
        GoldenTest("e", "x", expected=(BySource("a/b/c/d/e.md"),)),
        GoldenTest("f", "x", expected=(ByAddress("/power"),)),
    )
    groups = dict(groups_of(GoldenSet("golden", (*tests, *FILLER)), {}))
    assert groups["folder"] == {
        "a": "docs/guide",
        "b": "api/v1",
        "c": SEVERAL,
        "e": "a/b/c",
        "f": "/",
    }
    assert "version" not in groups


def test_versions_and_locales_come_from_the_collection() -> None:
    chunk = ByChunk("d-1")
    other = ByChunk("d-2")
    places: dict[Expectation, PagePlace] = {
        chunk: PagePlace("docs/de/a.md", "1.0", "de"),
        other: PagePlace("docs/en/a.md", "2.0", "en"),
    }
    tests = (GoldenTest("a", "x", expected=(chunk,)), GoldenTest("b", "x", expected=(other,)))
    groups = dict(groups_of(GoldenSet("golden", (*tests, *FILLER)), places))
    assert groups["version"] == {"a": "1.0", "b": "2.0"}
    assert groups["locale"] == {"a": "de", "b": "en"}
    assert groups["folder"] == {"a": "docs/de", "b": "docs/en"}


def test_a_resolver_knows_where_an_expectation_is() -> None:
    shown = record(1, "The lid is open.")
    expected = ByChunk(shown.chunk.id)
    resolver = Resolver([expected, ByChunk("gone")])
    resolver.show(shown)
    assert resolver.resolution.places == {
        expected: PagePlace(shown.chunk.source_path, shown.version, shown.locale)
    }


def test_questions_are_grouped_by_their_words() -> None:
    words = {"a": 1, "b": 3, "c": 4, "d": 7, "e": 8, "f": 15, "g": 16}
    tests = tuple(GoldenTest(name, " ".join(["x"] * count)) for name, count in words.items())
    groups = dict(groups_of(GoldenSet("golden", (*tests, *FILLER)), {}))["question length"]
    assert [groups[name] for name in words] == [
        *["1 to 3 words"] * 2,
        *["4 to 7 words"] * 2,
        *["8 to 15 words"] * 2,
        "16 words or more",
    ]


def test_a_few_tests_are_not_grouped() -> None:
    tests = tuple(GoldenTest(str(n), "x" if n else "x x x x x") for n in range(9))
    assert dict(groups_of(GoldenSet("golden", tests), {})) == {}


def test_small_folders_are_put_together() -> None:
    tests = tuple(
        GoldenTest(str(n), "x", expected=(BySource(f"folder{n}/a.md"),)) for n in range(50)
    )
    groups = dict(groups_of(GoldenSet("golden", tests), {}))["folder"]
    assert len(set(groups.values())) == MOST_GROUPS
    assert list(groups.values()).count(OTHERS) == 50 - MOST_GROUPS + 1


class GuideOnly:
    name = "guide only"
    takes_limit = False
    takes_filters = False

    async def search(self, query: TargetQuery) -> TargetAnswer:
        return TargetAnswer((TargetHit(url=f"/guide/{query.test_id}"),), 1.0)


async def test_reports_show_the_worst_groups_first() -> None:
    tests = tuple(
        GoldenTest(str(n), "x", expected=(ByAddress(f"/{'api' if n % 2 else 'guide'}/{n}"),))
        for n in range(10)
    )
    report = await run_on_target(GuideOnly(), GoldenSet("golden", tests), RunRequest(), "test")
    [breakdown] = report.breakdowns
    assert breakdown.by == "folder"
    assert [(one.name, one.totals.passed) for one in breakdown.groups] == [("api", 0), ("guide", 5)]
    lines = terminal(report).splitlines()
    start = next(at for at, line in enumerate(lines) if line.split()[:1] == ["folder"])
    assert [line.split() for line in lines[start + 2 : start + 4]] == [
        ["api", "0/5", "0.000"],
        ["guide", "5/5", "1.000"],
    ]
    assert "### By folder" in markdown(report)
    assert "By folder, version, locale and question length" in html_page(report)
