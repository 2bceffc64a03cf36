"""The files that a report is written to, each in the form that its option names."""

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from surefind.interfaces.cli.console import note

if TYPE_CHECKING:
    from surefind.evaluation.report import Report
    from surefind.interfaces.reports.html import Beside


@dataclass(frozen=True, slots=True)
class ReportFiles:
    markdown: Path | None = None
    junit: Path | None = None
    html: Path | None = None
    trec_out: Path | None = None
    save_baseline: Path | None = None

    @property
    def named(self) -> list[Path]:
        paths = (getattr(self, field.name) for field in fields(self))
        return [path for path in paths if path is not None]

    def check(self) -> None:
        """Before an hour of questions, not after it."""
        for path in self.named:
            folder = path if path == self.trec_out else path.parent
            if path != self.trec_out and path.is_dir():
                _refuse(path, "it is a folder")
            while not folder.exists() and folder != folder.parent:
                folder = folder.parent
            if not folder.is_dir():
                _refuse(path, f"{folder} is no folder")
            if not os.access(path if path.exists() else folder, os.W_OK):
                _refuse(path, "permission denied")

    def write(self, report: "Report", beside: "Beside | None") -> None:
        from surefind.interfaces.reports import json_report, trec
        from surefind.interfaces.reports.junit import junit
        from surefind.interfaces.reports.markdown import markdown

        if self.markdown is not None:
            _save(self.markdown, markdown(report))
        if self.junit is not None:
            _save(self.junit, junit(report))
        if self.html is not None:
            from surefind.interfaces.reports.html import html_page

            _save(self.html, html_page(report, beside))
        if self.trec_out is not None:
            _save(self.trec_out / "run.txt", trec.trec_run(report))
            _save(self.trec_out / "qrels.txt", trec.trec_qrels(report))
        if self.save_baseline is None:
            return
        if report.interrupted or not report.totals.total:
            note(f"no baseline was saved: {report.reasons[0]}")
        else:
            _save(self.save_baseline, json_report.report_text(report))


def _save(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    except OSError as error:
        _refuse(path, error.strerror or str(error))


def _refuse(path: Path, reason: str) -> None:
    from surefind.errors import InputError

    raise InputError(f"{path} can't be written: {reason}")


def content_of(path: Path) -> bytes:
    from surefind.errors import InputError

    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}") from error
