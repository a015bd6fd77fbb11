"""What all tests share: the data beside the repository, and one knowledge for the whole run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from knowledge.engine import Knowledge, load_knowledge

SHARED = Path(__file__).resolve().parents[2] / "shared"
CACHE = Path(os.environ.get("DISTRIAGE_DATA_DIR", Path(__file__).parents[1] / "build" / "data")) / "cache"


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
