"""axe-core, run in a page: https://github.com/dequelabs/axe-core. `make test-browser` installs it (npm)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.browser.chromium import Page

FILE = (
    Path(os.environ.get("NPM_MODULES", Path(__file__).parents[2] / "node_modules"))
    / "axe-core"
    / "axe.min.js"
)
_RUN = """
window.faults = null;
axe.run(document, {resultTypes: ["violations"]}).then(found => {
  window.faults = found.violations.filter(v => ["serious", "critical"].includes(v.impact))
    .map(v => ({rule: v.id, help: v.help, where: v.nodes.slice(0, 4).map(n => n.html.slice(0, 160))}));
});
"""


def serious_faults(page: Page) -> list[dict[str, Any]]:
    """The serious and critical violations of axe's own set of rules on the page as it is."""
    page.value(FILE.read_text("utf-8") + "; 0")
    page.value(_RUN)
    page.until("window.faults !== null", seconds=30)
    return list(json.loads(page.value("JSON.stringify(window.faults)")))
