"""The published JSON Schema of a triage: `python -m knowledge.triage_schema docs/triage.schema.json`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from knowledge.triage import Triage


def schema_text() -> str:
    """The schema as it is published."""
    schema = Triage.model_json_schema(mode="serialization")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, indent=2) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(schema_text(), "utf-8")
