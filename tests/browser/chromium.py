"""A real headless Chromium, driven over its DevTools pipe: no driver program, no extra package.

Messages are JSON, each ended by a NUL byte, on the browser's file descriptors 3 and 4.
https://chromedevtools.github.io/devtools-protocol/
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page:
    """One open page."""

    def __init__(self, out: IO[bytes], into: IO[bytes]) -> None:
        self._out, self._in = out, into
        self._next = 0
        self._session: str | None = None
        self.complaints: list[str] = []
        """Errors and violations that the page logged."""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")

    def go(self, url: str) -> None:
        """Load an address and wait until it is there."""
        self._call("Page.navigate", url=url)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def value(self, script: str) -> Any:
        """What an expression is worth in the page."""
        return self._call("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def until(self, script: str, seconds: float = 10) -> None:
        """Wait until an expression is true."""
        deadline = time.monotonic() + seconds
        while not self.value(script):
            assert time.monotonic() < deadline, (
                f"never true: {script}\n{self.value('document.body.innerText')}"
            )
            time.sleep(0.05)

    def click(self, selector: str) -> None:
        """A real click of the mouse in the middle of the first element that fits."""
        box = self.value(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return null;"
            " e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
            " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        assert box is not None, f"no {selector}"
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def see(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """The size of the window, and whether the person prefers dark pages."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def scripts(self, on: bool) -> None:
        """Whether pages may run scripts of their own."""
        self._call("Emulation.setScriptExecutionDisabled", value=not on)

    def key(self, key: str) -> None:
        """Press a key."""
        text = {"Enter": "\r"}.get(key, key)
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if kind == "keyDown" else {}
            self._call("Input.dispatchKeyEvent", type=kind, key=key, **more)

    def picture(self, box: Sequence[float] = ()) -> bytes:
        """What is seen, as PNG; `box` (x, y, width, height) takes a part of it."""
        clip = dict(zip(("x", "y", "width", "height"), box, strict=False))
        more = {"clip": {**clip, "scale": 1}} if clip else {}
        shot = self._call("Page.captureScreenshot", format="png", **more)
        return base64.b64decode(shot["data"])

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._next += 1
        message: dict[str, Any] = {"id": self._next, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._next:
                assert "error" not in answer, answer
                return dict(answer["result"])
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:
        if event.get("method") == "Log.entryAdded":
            self.complaints.append(event["params"]["entry"]["text"])
        if event.get("method") == "Page.javascriptDialogOpening":
            self.complaints.append(f"dialog: {event['params']['message']}")

    def _read(self) -> dict[str, Any]:
        message = bytearray()
        while (byte := self._in.read(1)) != b"\0":
            assert byte, "the browser has gone"
            message += byte
        return dict(json.loads(message))


@contextmanager
def open_page() -> Iterator[Page]:
    """A page in a browser of its own, with an empty profile."""
    assert PROGRAM is not None
    to_browser, send = os.pipe()
    receive, from_browser = os.pipe()
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile:
        shell = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-lcd-text",
            "--remote-debugging-pipe",
            "--no-first-run",
        ]
        process = subprocess.Popen(
            ["/bin/bash", "-c", shell, PROGRAM, *arguments, f"--user-data-dir={profile}"],
            pass_fds=(to_browser, from_browser),
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        try:
            with os.fdopen(send, "wb", buffering=0) as out, os.fdopen(receive, "rb") as into:
                yield Page(out, into)
        finally:
            process.terminate()
            process.wait(20)
