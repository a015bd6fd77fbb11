"""Further surfaces of the web application, besides GitHub's webhook and the health routes."""

from __future__ import annotations

from fastapi import APIRouter

from bot.service import Service


def surfaces(service: Service) -> list[APIRouter]:
    """The routers that the settings ask for."""
    return []
