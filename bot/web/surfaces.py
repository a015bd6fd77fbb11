"""Further surfaces of the web application, besides GitHub's webhook and the health routes."""

from __future__ import annotations

from fastapi import APIRouter

from bot.core import NamedCore
from bot.github_work import ENGINE
from bot.service import Service
from bot.slack.compose import slack_ports, slack_routers
from bot.triage_process import TriagePool
from bot.web.page_routes import page_router
from bot.web.sign_in import SignIn
from knowledge.taxonomy import load_taxonomy


def surfaces(service: Service) -> list[APIRouter]:
    """The routers that the settings ask for."""
    routers = [page_router(service, SignIn.of(service.settings), load_taxonomy())]
    if service.settings.slack_signing_secret is not None:
        # Names for the modals; the pool starts no process, since nothing is triaged here.
        core = NamedCore(TriagePool(ENGINE), load_taxonomy())
        routers += slack_routers(service, slack_ports(service, core))
    return routers
