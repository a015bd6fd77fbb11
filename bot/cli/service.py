"""The service's commands: serve, worker, db, deliveries, doctor, admin; and the tool server `bot mcp`.

Heavy imports stand inside the commands, so that `bot triage` does not pay for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from bot.cli.common import examples, waiting

if TYPE_CHECKING:
    from bot.db.deliveries import StoredDelivery
    from bot.settings import Settings


# `bot mcp`: distriage as a tool server for editors and agents.


def register_mcp(app: typer.Typer) -> None:
    """Add the command to the application."""
    epilog = examples("bot mcp")
    app.command(name="mcp", epilog=epilog)(mcp)


def mcp() -> None:
    """Serve triage, explanations, search, and diagnostic scripts over MCP (stdio, read-only)."""
    from bot.api.mcp_server import serve_stdio

    serve_stdio()


db_app = typer.Typer(help="Manage the database.", no_args_is_help=True, epilog=examples("bot db upgrade"))
deliveries_app = typer.Typer(
    help="List, show, and retry webhook deliveries.",
    no_args_is_help=True,
    epilog=examples("bot deliveries list --state dead", "bot deliveries retry all"),
)
admin_app = typer.Typer(
    help="Get access to the maintainers' page.",
    no_args_is_help=True,
    epilog=examples("bot admin link --hours 8"),
)


def register_service(app: typer.Typer) -> None:
    """Add the service's commands to the application."""
    ran: dict[Callable[..., None], tuple[str, ...]] = {
        serve: ("bot serve", "bot serve --host 0.0.0.0 --port 8000 --web-only"),
        worker: ("bot worker", "bot worker --metrics-port 9100"),
        doctor: ("bot doctor",),
        corrections: ("bot corrections > corrected.jsonl",),
        forget: ("bot forget octo/train", "bot forget --yes octo/train"),
    }
    for command, shown in ran.items():
        app.command(epilog=examples(*shown))(command)
    app.add_typer(db_app, name="db")
    app.add_typer(deliveries_app, name="deliveries")
    app.add_typer(admin_app, name="admin")


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=0, max=65535)] = 8000,
    web_only: Annotated[
        bool, typer.Option("--web-only", help="Accept deliveries only; leave processing to `bot worker`.")
    ] = False,
) -> None:
    """Run the service: accept webhooks and process them in a built-in worker."""
    from bot.serve.processes import ALL_WORK
    from bot.serve.processes import serve as run

    run(_settings_with_logs(), host, port, None if web_only else ALL_WORK)


def worker(
    metrics_port: Annotated[
        int | None, typer.Option(help="Port for this worker's own /metrics. Off by default.", min=1)
    ] = None,
) -> None:
    """Process deliveries. You can run any number of workers against one database."""
    from bot.serve.processes import ALL_WORK, load_factory, run_worker_process

    run_worker_process(_settings_with_logs(), load_factory(ALL_WORK), metrics_port)


def doctor() -> None:
    """Check the settings, database, model, App credentials, and Slack, and explain how to fix any problems."""
    from bot.serve.doctor import examine

    with waiting("checking"):
        findings = examine()
    for finding in findings:
        typer.echo(f"{finding.state:<7} {finding.subject}: {finding.text}")
        if finding.remedy:
            typer.echo(f"        -> {finding.remedy}")
    raise typer.Exit(1 if any(finding.state == "broken" for finding in findings) else 0)


def forget(
    repository: Annotated[str, typer.Argument(help="The repository, as OWNER/REPO.")],
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking for confirmation.")] = False,
) -> None:
    """Delete everything stored about a repository: triages, comment records, corrections, deliveries, and history."""
    import re

    from bot.cli.operate import forget_repository
    from knowledge.errors import InputError

    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        raise InputError(f"{repository!r} isn't a repository name.", "Write it as OWNER/REPO.")
    if not yes:
        found = forget_repository(repository, really=False)
        if not found:
            typer.echo(f"Nothing is stored about {repository}.")
            return
        typer.echo("\n".join(f"{rows:>7}  {table}" for table, rows in found.items()))
        typer.confirm(f"Delete these {sum(found.values())} rows about {repository}?", abort=True)
    gone = forget_repository(repository, really=True)
    typer.echo(f"deleted {sum(gone.values())} rows about {repository}")
    typer.echo("If the App is still installed there, new issues are stored again.")


def corrections() -> None:
    """Export human corrections (from GitHub, the web page, and Slack) as labeled cases, one JSON object per line."""
    import json

    from bot.cli.operate import all_corrections

    for given in all_corrections():
        typer.echo(json.dumps(given.as_record(), ensure_ascii=False))


@db_app.command("upgrade", epilog=examples("bot db upgrade"))
def db_upgrade() -> None:
    """Upgrade the database schema (the service does this at startup)."""
    from bot.db.connect import database_url, upgrade
    from bot.settings import load_settings

    with database_url(load_settings()) as url:
        applied = upgrade(url)
    typer.echo(f"applied {len(applied)} migrations" if applied else "up to date")


@deliveries_app.command("list", epilog=examples("bot deliveries list --state dead --limit 10"))
def deliveries_list(
    state: Annotated[
        Literal["queued", "done", "superseded", "dead"] | None,
        typer.Option(help="List only deliveries in this state."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of deliveries to list.")] = 50,
) -> None:
    """List deliveries, newest first."""
    from bot.cli.operate import with_deliveries

    for delivery in with_deliveries(lambda deliveries: deliveries.newest(state, limit)):
        typer.echo(_line(delivery))


@deliveries_app.command("show", epilog=examples("bot deliveries show 0b3fd1a2"))
def deliveries_show(delivery: Annotated[str, typer.Argument(help="ID of the delivery.")]) -> None:
    """Show one delivery, with its error and the stored part of its payload."""
    import json

    from bot.cli.operate import with_deliveries

    found = with_deliveries(lambda deliveries: deliveries.show(delivery))
    if found is None:
        raise _unknown(delivery)
    typer.echo(_line(found))
    if found.error:
        typer.echo(found.error)
    for rule in found.detail:
        typer.echo(f"the gate refused the comment: {rule}")
    typer.echo(json.dumps(found.payload, indent=2, ensure_ascii=True))


@deliveries_app.command("retry", epilog=examples("bot deliveries retry 0b3fd1a2", "bot deliveries retry all"))
def deliveries_retry(
    delivery: Annotated[str, typer.Argument(help="ID of a dead delivery, or `all`.")],
) -> None:
    """Requeue a dead delivery."""
    from bot.cli.operate import retry_dead

    retried = retry_dead(None if delivery == "all" else delivery)
    if not retried and delivery != "all":
        raise _unknown(delivery, "dead ")
    typer.echo(f"requeued {len(retried)}")


@admin_app.command("link", epilog=examples("bot admin link --hours 8"))
def admin_link(
    hours: Annotated[float, typer.Option(help="Hours until the link expires.", min=0.1, max=24 * 30)] = 24.0,
    installation: Annotated[
        int | None, typer.Option(help="Limit access to this installation. Default: all.")
    ] = None,
) -> None:
    """Print a link that signs a maintainer in to the page."""
    from bot.page.sign_in import SignIn
    from bot.settings import load_settings

    settings = load_settings()
    if "public_url" not in settings.model_fields_set:
        typer.echo(
            f"DISTRIAGE_PUBLIC_URL is not set; assuming {settings.public_url}. If the service has another address,"
            " set the variable or correct the link by hand.",
            err=True,
        )
    typer.echo(SignIn.of(settings).link(settings.public_url, hours * 3600, installation))


def _line(delivery: StoredDelivery) -> str:
    end = delivery.outcome or (delivery.error or "").split("\n", 1)[0]
    reason = f" ({delivery.reason})" if delivery.reason else ""
    action = f".{delivery.action}" if delivery.action else ""
    received = delivery.received_at.strftime("%Y-%m-%d %H:%M:%S")
    waits = f" waits={delivery.waits}" if delivery.waits else ""
    return (
        f"{delivery.id}  {received}  {delivery.state:<10}  {delivery.event}{action}"
        f"  {delivery.subject or '-'}  runs={delivery.attempts}{waits}  {end}{reason}"
    )


def _unknown(delivery: str, kind: str = "") -> Exception:
    from knowledge.errors import UserError

    return UserError(f"There is no {kind}delivery {delivery!r}.", "List them with: bot deliveries list")


def _settings_with_logs() -> Settings:
    from bot.runtime.logs import configure_logs
    from bot.settings import load_service_settings

    settings = load_service_settings()
    configure_logs(settings.log_level)
    return settings
