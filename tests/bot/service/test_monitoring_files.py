"""The dashboard and the alert rules in deploy/ ask only for metrics and labels that the service exports."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from bot.runtime.metrics import GAUGES, LlmMetrics, Metrics
from knowledge.triage import SecondReading

DEPLOY = Path(__file__).parents[3] / "deploy"
RULES = DEPLOY / "prometheus-alerts.yml"
DASHBOARD = json.loads((DEPLOY / "grafana-dashboard.json").read_text("utf-8"))
OF_PROMETHEUS = {"up": {"job", "instance"}}
_METRIC = re.compile(r"\b(up|distriage_\w+)(?:\{([^}]*)\})?")
_GROUPED = re.compile(r"\bby \(([^)]*)\)")


def exported() -> dict[str, set[str]]:
    """Every series that the service exports, with its labels."""
    metrics = Metrics()
    metrics.webhook("github", "queued", 0.1)
    metrics.api(200, 0.1)
    metrics.delivery("written", 0.1)
    LlmMetrics(metrics.work).observe(SecondReading(used=True, model="m"))
    text = (metrics.page() + metrics.work_page()).decode()
    series: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            series.setdefault(sample.name, set()).update(sample.labels)
    return {**series, **{name: set(labels) for name, (_, labels) in GAUGES.items()}, **OF_PROMETHEUS}


def alerts() -> list[dict[str, str]]:
    groups = yaml.safe_load(RULES.read_text("utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def queries() -> list[str]:
    return [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]


@pytest.mark.parametrize("expression", [*(rule["expr"] for rule in alerts()), *queries()])
def test_an_expression_asks_for_what_is_exported(expression: str) -> None:
    series = exported()
    found = _METRIC.findall(expression)
    assert found
    known = set[str]()
    for name, selector in found:
        assert name in series, name
        assert set(re.findall(r"(\w+)\s*[!=]~?", selector)) <= series[name], selector
        known |= series[name]
    for group in _GROUPED.findall(expression):
        assert {label.strip() for label in group.split(",")} <= known, group


def test_a_misspelt_metric_or_label_would_be_noticed() -> None:
    series = exported()
    assert "distriage_webhook_total" not in series
    assert series["distriage_webhooks_total"] == {"source", "status"}
    assert series["distriage_accept_seconds_bucket"] == {"le"}


def test_states_in_selectors_occur() -> None:
    """A label's value that the code does not write would never match."""
    code = "\n".join(
        path.read_text("utf-8")
        for path in (DEPLOY.parent / "bot").rglob("*.py")
        if "render" not in path.parts
    )
    for expression in [*(rule["expr"] for rule in alerts()), *queries()]:
        for value in re.findall(r'(?:state|status|outcome|window)!?="([^"]+)"', expression):
            assert f'"{value}"' in code or f"'{value}'" in code, value


def test_every_metric_is_on_the_dashboard() -> None:
    shown = "\n".join(queries())
    names = {name.rsplit("_", 1)[0] if name.endswith("_bucket") else name for name in exported()}
    for name in names - set(OF_PROMETHEUS):
        if not name.endswith(("_created", "_sum", "_count")):
            assert name in shown, name


def test_every_alert_says_what_to_do() -> None:
    for rule in alerts():
        assert rule["labels"]["severity"] in ("critical", "warning", "info")  # type: ignore[index]
        assert set(rule["annotations"]) == {"summary", "description"}


def test_panels_do_not_overlap_and_have_ids_of_their_own() -> None:
    cells = [
        (x, y)
        for panel in DASHBOARD["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells))
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))


def test_promtool_accepts_the_rules_and_the_queries(tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("needs promtool (apt: prometheus)")
    recorded = [
        {"record": f"query:{n}", "expr": query.replace("$__rate_interval", "5m")}
        for n, query in enumerate(queries())
    ]
    asked = tmp_path / "queries.yml"
    asked.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": recorded}]}), "utf-8")
    for file in (RULES, asked):
        done = subprocess.run([promtool, "check", "rules", str(file)], capture_output=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
