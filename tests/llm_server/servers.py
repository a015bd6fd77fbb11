"""Real servers as child processes: llama.cpp's, and `transformers serve`."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

HERE = Path(__file__).parent
READY = 120.0


@contextmanager
def llama_cpp(model: Path) -> Iterator[str]:
    """Base URL of llama.cpp's server; the model is called "tiny"."""
    with _child([sys.executable, str(HERE / "llama_server.py"), str(model)], pipe=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().decode().strip() + "/v1"


@contextmanager
def transformers_serve(model: Path) -> Iterator[str]:
    """Base URL of `transformers serve`; the model is called by its folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = str(Path(sys.executable).parent / "transformers")
    options = ["--device", "cpu", "--host", "127.0.0.1", "--port", str(port), "--log-level", "error"]
    with _child([program, "serve", str(model), *options]) as process:
        url = f"http://127.0.0.1:{port}"
        _wait(url, process)
        yield f"{url}/v1"


@contextmanager
def _child(command: list[str], pipe: bool = False) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE if pipe else subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + READY
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}")
        try:
            if httpx2.get(f"{url}/health", timeout=2).status_code == 200:
                return
        except httpx2.HTTPError:
            time.sleep(0.3)
    raise RuntimeError("the server did not answer in time")
