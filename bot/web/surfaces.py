"""Further surfaces of the web application, besides GitHub's webhook and the health routes."""

from __future__ import annotations

from fastapi import APIRouter

from bot.core import NamedCore
from bot.github.script_links import ScriptLinks
from bot.service import Service
from bot.slack.compose import NoCore, slack_ports, slack_routers
from bot.web.page_routes import page_router
from bot.web.script_route import script_router
from bot.web.sign_in import SignIn
from knowledge.taxonomy import load_taxonomy


def surfaces(service: Service) -> list[APIRouter]:
    """The routers that the settings ask for."""
    routers = [
        page_router(service, SignIn.of(service.settings), load_taxonomy()),
        script_router(service, ScriptLinks.of(service.settings)),
    ]
    if service.settings.slack_signing_secret is not None:
        core = NamedCore(NoCore(), load_taxonomy())
        routers += slack_routers(service, slack_ports(service, core))
    return routers
