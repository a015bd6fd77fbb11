"""Entry point of `bot`: errors the user can mend end in one line and exit code 2."""

from __future__ import annotations

import sys

from embeddings.errors import UserError


def main() -> None:
    """Run the command line."""
    from bot.cli.app import app

    try:
        app()
    except UserError as error:
        print(f"bot: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except BrokenPipeError:
        raise SystemExit(141) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
