"""These tests break real set-ups (root, namespaces, apt packages): `make test-setups` runs them, `make
test` does not. Where CI is set, a set-up that cannot be made is a failure, unless it wants control groups of version 1,
which no package brings."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import pytest

collect_ignore_glob = [] if os.environ.get("DISTRIAGE_TEST_SETUPS") else ["test_*.py"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    report = yield
    if os.environ.get("CI") and report.skipped and "cgroup-memory" not in str(report.longrepr):
        report.outcome = "failed"
    return report
