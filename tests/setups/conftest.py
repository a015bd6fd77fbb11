"""These tests break real set-ups (root, namespaces, apt packages): `make test-setups` runs them,
`make test` does not."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("DISTRIAGE_TEST_SETUPS") else ["test_*.py"]
