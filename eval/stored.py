"""Files that one run leaves for another."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from knowledge.errors import DataError

Model = TypeVar("Model", bound=BaseModel)


def read_stored(kind: type[Model], file: Path, what: str, made_by: str) -> Model:
    """What a file holds. DataError, saying `what` was expected and what it is `made_by`, when it is something else."""
    try:
        return kind.model_validate_json(file.read_bytes())
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror}.", "Check the path.") from error
    except ValidationError as error:
        raise DataError(
            f"{file} {what} ({error.error_count()} problems).", f"Make it with: {made_by}"
        ) from error
