"""Posts at a fixed rate over kept-alive connections, cheaply: the server is measured, not the client."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence


class Line:
    """One connection; answers are read whole, only their status counts."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: bytes, headers: dict[str, str]) -> int:
        """The status of the answer; a connection that the server closed meanwhile is opened anew."""
        try:
            return await self._post(path, body, headers)
        except (asyncio.IncompleteReadError, ConnectionError):
            await self.close()
            return await self._post(path, body, headers)

    async def _post(self, path: str, body: bytes, headers: dict[str, str]) -> int:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        lines = [f"POST {path} HTTP/1.1", "host: bot", f"content-length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.partition(b":")[2]))
        return int(head.split(b" ", 2)[1])

    async def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def post_at_rate(
    port: int, path: str, calls: Sequence[tuple[bytes, dict[str, str]]], rate: float, lines: int = 40
) -> tuple[list[int], list[float]]:
    """Statuses and seconds from the moment a call was due to its answer, in the order of the calls."""
    free: asyncio.LifoQueue[Line] = asyncio.LifoQueue()
    for _ in range(lines):
        free.put_nowait(Line(port))
    statuses, times = [0] * len(calls), [0.0] * len(calls)

    async def one(n: int, due: float) -> None:
        line = await free.get()
        statuses[n] = await line.post(path, *calls[n])
        times[n] = time.perf_counter() - due
        free.put_nowait(line)

    begin = time.perf_counter()
    tasks = []
    for n in range(len(calls)):
        due = begin + n / rate
        pause = due - time.perf_counter()
        if pause > 0:
            await asyncio.sleep(pause)
        tasks.append(asyncio.create_task(one(n, due)))
    await asyncio.gather(*tasks)
    while not free.empty():
        await free.get_nowait().close()
    return statuses, times
