"""The gaps that a query log shows, as JSON."""

from surefind.interfaces.json_output import Json
from surefind.model import Gap, GapReport


def gaps_json(report: GapReport, number: int) -> Json:
    return {
        "collection": report.collection,
        "since": report.since.isoformat(),
        "until": report.until.isoformat(),
        "searches": report.searches,
        "judged": report.judged,
        "thin": report.thin,
        "gaps_total": len(report.gaps),
        "gaps": [_gap_json(gap) for gap in report.gaps[:number]],
        "possible_total": len(report.possible),
        "possible": [_gap_json(gap) for gap in report.possible[:number]],
    }


def _gap_json(gap: Gap) -> Json:
    return {
        "questions": list(gap.questions),
        "count": gap.count,
        "recent": gap.recent,
        "trend": gap.trend,
        "confidence": round(gap.confidence, 3),
        "clients": gap.clients,
        "first": gap.first.isoformat(),
        "last": gap.last.isoformat(),
        "nearest": [
            {"url": page.url, "title": page.title, "times": page.times} for page in gap.nearest
        ],
    }
