"""The work of a production worker: GitHub's and Slack's, with one core for both."""

from __future__ import annotations

from dataclasses import replace

from bot.core import NamedCore
from bot.github_work import ENGINE, make_app, work_of
from bot.runtime.llm_metrics import LlmMetrics
from bot.runtime.second_reader_pool import TwoReaders, with_second_reader
from bot.service import Service, Work
from bot.slack.compose import slack_ports
from bot.slack.handler import slack_handler
from bot.triage_process import CanTriage, TriagePool
from knowledge.taxonomy import load_taxonomy


def all_work(service: Service) -> Work:
    """Handlers and chores by the settings; the engine runs in processes of its own."""
    local = TriagePool(ENGINE, service.settings.triage_processes)
    source = with_second_reader(local, service.settings, LlmMetrics(service.metrics.work))

    def close() -> None:
        local.close()
        if isinstance(source, TwoReaders):
            source.close()

    work = work_of(service, make_app(service.settings), source, local)
    return with_slack(service, replace(work, state=local.state, close=close), source)


def with_slack(service: Service, work: Work, source: CanTriage) -> Work:
    """The work with Slack's handler beside the others, where Slack is on."""
    if service.settings.slack_signing_secret is None:
        return work
    handler = slack_handler(slack_ports(service, NamedCore(source, load_taxonomy())))
    return replace(work, handlers={**work.handlers, "slack": handler})
