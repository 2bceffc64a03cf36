"""The server's log: one JSON object per line, with the request's ID."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from surefind.errors import without_passwords
from surefind.interfaces.http.middleware import request_log


class JsonLines(logging.Formatter):
    def __init__(self, worker: int | None = None) -> None:
        super().__init__()
        self._worker = worker

    def format(self, record: logging.LogRecord) -> str:
        request = request_log.current_request()
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        if self._worker is not None:
            line["worker"] = self._worker
        if request is not None:
            line["request_id"] = request.id
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return without_passwords(json.dumps(line, default=str))


def log_as_json(worker: int | None = None) -> None:
    """Send all log records to stderr as lines of JSON, with the number of the worker if given."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(worker))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger(request_log.__name__).setLevel(logging.INFO)
