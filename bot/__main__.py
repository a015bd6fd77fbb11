"""Entry point of `bot`: what the user can fix ends in one line and exit code 2, a defect of ours in one and 70.

docs/cli.md lists the exit codes.
"""

from __future__ import annotations

import gc
import os
import sys

from embeddings.errors import UserError

# pydantic looks for plugins in every installed package, when the first model is made; none of ours uses one.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
DEFECT = 70
"""EX_SOFTWARE of sysexits.h."""
_NEW_OBJECTS = 200_000
"""Between two looks for garbage: what a start makes stays, and looking through it 200 times takes a twentieth of it."""
_ROOMS = ("bot", "eval", "llm", "knowledge", "embeddings")


def main() -> None:
    """Run the command line."""
    gc.set_threshold(_NEW_OBJECTS)
    try:
        from bot.cli.app import app

        app()
    except UserError as error:
        _end(str(error), 2)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        _end(f"{place}{error.strerror or error}", 2)
    except Exception as error:  # noqa: BLE001 - the process's edge: a defect ends in one line, too
        if os.environ.get("DISTRIAGE_LOG_LEVEL") == "DEBUG":
            import traceback

            traceback.print_exc()
        _end(
            f"internal error: {type(error).__name__} in {_place(error)}. Please report it; "
            "DISTRIAGE_LOG_LEVEL=DEBUG shows the traceback.",
            DEFECT,
        )


def _end(message: str, code: int) -> None:
    print(f"bot: {message}", file=sys.stderr)
    raise SystemExit(code) from None


def _place(error: BaseException) -> str:
    """Module and line of our own innermost frame."""
    import traceback  # 3 ms that only a defect needs

    frames = [(f.f_globals.get("__name__", "?"), line) for f, line in traceback.walk_tb(error.__traceback__)]
    ours = [(name, line) for name, line in frames if name.partition(".")[0] in _ROOMS]
    name, line = (ours or frames)[-1]
    return f"{name}:{line}"


if __name__ == "__main__":
    main()
