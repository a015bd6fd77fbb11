"""What all tests share: the data beside the repository, one knowledge for the whole run, and CI's view of skips."""

from __future__ import annotations

import os
import socket
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from knowledge.engine import Knowledge, load_knowledge

SHARED = Path(__file__).resolve().parents[2] / "shared"
CACHE = Path(os.environ.get("DISTRIAGE_DATA_DIR", Path(__file__).parents[1] / "build" / "data")) / "cache"
OWN_TARGET = {"browser", "package", "payloads", "reference", "llm_server", "soak", "setups", "inject"}
"""Folders whose tests need more than pip, and markers of the same names. CI installs what they need, so a skip there
hides a missing installation."""
EXCUSED = ("cgroup-memory", "others took")
"""What no package brings: control groups of version 1, a machine to oneself."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A folder of OWN_TARGET is not even imported unless the command line names it, or its marker."""
    if collection_path.parent != Path(__file__).parent or collection_path.name not in OWN_TARGET:
        return None
    named = [Path(arg.partition("::")[0]).resolve() for arg in config.args]
    inside = any(collection_path in (path, *path.parents) for path in named)
    return None if inside or collection_path.name in config.option.markexpr.split() else True


def pytest_itemcollected(item: pytest.Item) -> None:
    """Each test of such a folder has its marker."""
    if (folder := item.path.relative_to(Path(__file__).parent).parts[0]) in OWN_TARGET:
        item.add_marker(folder)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    report = yield
    told = str(report.longrepr)
    own_target = any(mark.name in OWN_TARGET for mark in item.iter_markers())
    if os.environ.get("CI") and own_target and report.skipped and not any(word in told for word in EXCUSED):
        report.outcome = "failed"
    return report


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of data beside the repository; without it the test is skipped and says so."""
    if not SHARED.is_dir():
        pytest.skip("needs the data beside the repository (../shared)")
    return SHARED


@pytest.fixture(scope="session")
def knowledge() -> Knowledge:
    """The shipped knowledge, indexed once."""
    return load_knowledge(None, CACHE)


@pytest.fixture
def port() -> int:
    """A port of the loopback that nothing listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
