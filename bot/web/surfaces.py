"""Further surfaces of the web application, besides GitHub's webhook and the health routes."""

from __future__ import annotations

from fastapi import APIRouter

from bot.service import Service
from bot.web.page_routes import page_router
from bot.web.sign_in import SignIn
from knowledge.taxonomy import load_taxonomy


def surfaces(service: Service) -> list[APIRouter]:
    """The routers that the settings ask for."""
    return [page_router(service, SignIn.of(service.settings), load_taxonomy())]
