"""Secrets that the service makes for itself, once, in the data folder."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from bot.settings import Settings


def admin_secret(settings: Settings) -> str:
    """The configured secret of the maintainers' page, else the one in the data folder."""
    if settings.admin_secret is not None:
        return settings.admin_secret.get_secret_value()
    return generated_secret(settings.data_dir, "admin")


def generated_secret(data_dir: Path, name: str) -> str:
    """The secret of that name: read from its file, or made and kept there (readable by its owner only)."""
    data_dir.mkdir(parents=True, exist_ok=True)
    file = data_dir / f"{name}.key"
    draft = data_dir / f".{name}.{os.getpid()}.{secrets.token_hex(4)}"
    if not file.exists():
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as out:
            out.write(secrets.token_urlsafe(32))
        try:
            # A link, unlike a rename, leaves the winner's file when two processes start together.
            os.link(draft, file)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return file.read_text().strip()
