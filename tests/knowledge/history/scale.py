"""How search and back-fill behave with many records; the figures of docs/scale.md. Not a test.

    python -m tests.knowledge.history.scale shape  [EXPORT]        made-up records beside a tracker's own
    python -m tests.knowledge.history.scale search [RECORDS] [QUERIES]
    python -m tests.knowledge.history.scale many   [REPOSITORIES] [RECORDS] [QUERIES]
    python -m tests.knowledge.history.scale fill   [ISSUES]
    python -m tests.knowledge.history.scale read   REPORTS [NUMBER] [PROCESSES]  the reading of reports alone
    python -m tests.knowledge.history.scale reload [RECORDS] [QUERIES]
    python -m tests.knowledge.history.scale workers [PROCESSES] [RECORDS] [QUERIES]
    python -m tests.knowledge.history.scale facts  REPORTS         what the search by facts finds, of GitHub's reports

One thread a process; times are CPU times of the process, but for searches a second in `workers`. `fill`, `reload` and
`workers` start an embedded PostgreSQL of their own.
"""

from __future__ import annotations

import os

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")

import gzip
import json
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bot.db.connect import sync_pool
from bot.github.app import App
from bot.history.backfill import PAGE, InPieces
from bot.history.backfill import fill as fill_from
from bot.history.records import KeptIssue, Outcome, Progress, RepoHistory
from bot.history.search import Histories
from bot.history.store import PostgresHistory
from bot.ports import Recorded
from bot.runtime.triage_pool import ENGINE, TriagePool
from bot.settings import load_settings
from embeddings.encoder import OnnxEncoder
from knowledge.history.index import GrowingIndex, Index, best, fused
from knowledge.history.record import Post, Record, records_of
from knowledge.history.tracker import Tracker, groups, in_order, read_tracker
from knowledge.history.verifier import closest, load_weights
from knowledge.signatures import SignatureTable
from knowledge.training.history import linked_trackers, read_pairs
from tests.bot.fake_github import APP_ID, FakeGitHub, serve
from tests.bot.history.fake_past import NAME, FakePast, labeled, node, who
from tests.bot.service.databases import fresh_database, running_server
from tests.knowledge.history.made_up import DIMS, records
from tests.knowledge.history.tiny import WordEncoder

TOP = 10
RANKED = 100
"""Queries whose candidates are compared closely, too."""
Vectors = npt.NDArray[np.float16]


def resident() -> float:
    """Megabytes of this process that are in memory."""
    line = next(
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS")
    )
    return int(line.split()[1]) / 1024


def spread(seconds: Sequence[float]) -> str:
    """Median and 95th percentile."""
    return "p50 {:.1f} ms, p95 {:.1f} ms".format(*np.percentile(np.array(seconds) * 1000, [50, 95]))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of this process, and the result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


# Search: time, and what is lost beside comparing with everything.


def search(count: int, queries: int) -> None:
    """Fill an index, look for newer reports, and compare with exact searches."""
    drawn = records(count + queries)
    index, vectors, took, megabytes = built(drawn, count)
    print(f"{count:,} records indexed: {took:.0f} s of CPU time, {took / count * 1e3:.2f} ms each")
    print(f"memory: {megabytes:.0f} MB, {megabytes / count * 2**20:.0f} bytes a record")
    times, found, exact = [], [], []
    for query in drawn:
        seconds, ids = timed(partial(index.candidates, query))
        times.append(seconds)
        found.append(ids)
        exact.append(exactly(index, vectors, query))
    print(f"candidates of {queries} queries: {spread(times)}; {np.mean([len(ids) for ids in found]):.0f} ids")
    for n, name in enumerate(("all words", "titles", "errors", "title vectors", "account vectors")):
        print(f"recall of {name}: {kept(found, [one[n] for one in exact])}")
    rank(index, count, queries, found, exact)


def many(repositories: int, count: int, queries: int) -> None:
    """Hold the indexes of several repositories in one process, and look for newer reports in one after the other."""
    held, before, start = [], resident(), time.process_time()
    for n in range(repositories):
        drawn, index = records(count + queries, seed=n), GrowingIndex(DIMS)
        for record in islice(drawn, count):
            index.put(record)
        held.append((index, drawn))
        used, megabytes = time.process_time() - start, resident() - before
        print(f"{(n + 1) * count:,} records: {used:.0f} s of CPU time, {megabytes:,.0f} MB", flush=True)
    times = [
        timed(partial(index.candidates, query))[0]
        for queries_of_each in zip(*(drawn for _, drawn in held), strict=True)
        for (index, _), query in zip(held, queries_of_each, strict=True)
    ]
    print(f"candidates of {queries} queries in each repository: {spread(times)}")


def built(drawn: Iterator[Record], count: int) -> tuple[GrowingIndex, Vectors, float, float]:
    """The index, all vectors, CPU seconds and megabytes of the index alone."""
    index, took = GrowingIndex(DIMS), 0.0
    vectors = np.ones((count, 2, DIMS), np.float16)
    before = resident()
    for n, record in enumerate(islice(drawn, count)):
        seconds, _ = timed(partial(index.put, record))
        took += seconds
        vectors[n] = record.vectors
    return index, vectors, took, resident() - before


def exactly(index: GrowingIndex, vectors: Vectors, query: Record) -> list[list[str]]:
    """The 60 nearest of each search, best first; an id is the record's number."""
    near = np.concatenate(
        [np.einsum("nvd,vd->nv", part.astype(np.float32), query.vectors) for part in np.split(vectors, 20)]
    )
    out = []
    for scores in [*index.words.scores(query), near[:, 0], near[:, 1]]:
        places = best(scores, 60)
        out.append([str(n) for n in places[np.argsort(-scores[places], kind="stable")]])
    return out


def kept(found: Sequence[list[str]], exact: Sequence[list[str]]) -> str:
    """Share of the exact nearest that are candidates, of the first 10 and of 60."""
    shares = []
    for most in (TOP, 60):
        pairs = [(set(ids), wanted[:most]) for ids, wanted in zip(found, exact, strict=True)]
        hits = sum(id in ids for ids, wanted in pairs for id in wanted)
        shares.append(hits / max(1, sum(len(wanted) for _, wanted in pairs)))
    return f"@10 {shares[0]:.4f}, @60 {shares[1]:.4f}"


def rank(
    index: GrowingIndex, count: int, queries: int, found: list[list[str]], exact: list[list[list[str]]]
) -> None:
    """What the close comparison makes of the candidates, beside what it makes of the exact ones."""
    exactly = [sorted({id for one in five for id in one}, key=int) for five in exact[:RANKED]]
    wanted = {id for ids in (*exactly, *found[:RANKED]) for id in ids}
    held = {one.id: one for one in records(count) if one.id in wanted}
    asked = islice(records(count + queries), count, count + min(queries, RANKED))
    weights, times, same, first = load_weights(), [], [], []
    for query, ids, right in zip(asked, found, exactly, strict=False):
        seconds, mine = timed(partial(closest, query, [held[id] for id in ids], index.words, weights))
        theirs = closest(query, [held[id] for id in right], index.words, weights)
        times.append(seconds)
        first.append(mine[0].record.id == theirs[0].record.id)
        same.append(len({one.record.id for one in mine} & {one.record.id for one in theirs}) / len(theirs))
    print(f"comparison of the candidates: {spread(times)}")
    print(
        f"the ten that it puts first: {np.mean(same):.4f} of the exact ten; the first: {np.mean(first):.4f}"
    )


# Back-fill and reload, over an embedded PostgreSQL of their own.


class MadeUp:
    """A recorder whose records are made up: reading and embedding cost nothing here, all else is real."""

    def __init__(self, count: int) -> None:
        self._drawn = cycle(records(min(count, 5_000)))

    def records(self, posts: Sequence[Post], triaged: bool = False) -> Recorded:
        """See `Recorder`."""
        made = (replace(next(self._drawn), id=post.id, opened=post.opened) for post in posts)
        return Recorded("made-up", tuple(made))


def fill(count: int) -> None:
    """Back-fill from a stand-in for GitHub that runs in a process of its own."""
    with standing_in(count) as (api, key), opened() as store:
        app = App(APP_ID, key, api, seconds_between_writes=0)
        installation, repo = app.find_repository(NAME)
        kept = store.begin(NAME, "made-up", repo.id, installation)
        source, start, began = app.history_of(installation, repo), time.process_time(), time.monotonic()

        def tick(progress: Progress) -> None:
            if progress.read and (progress.read % max(PAGE, count // 10) == 0 or not progress.cursor):
                used, passed = time.process_time() - start, time.monotonic() - began
                print(
                    f"{progress.read:,} issues: {resident():.0f} MB, {used:.1f} s of CPU time, {passed:.0f} s passed,"
                    f" {progress.read / PAGE / used:.1f} pages a second of CPU time"
                )

        fill_from(store, kept, source, MadeUp(count), tick)


@contextmanager
def standing_in(count: int) -> Iterator[tuple[str, str]]:
    """URL of a GitHub with so many issues, and the App's key."""
    processes = multiprocessing.get_context("spawn")
    ours, theirs = processes.Pipe()
    process = processes.Process(target=stand_in, args=(count, theirs), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.kill()
        process.join()


def stand_in(count: int, out: Connection) -> None:
    """The process of `standing_in`."""
    state = FakeGitHub()
    state.repo(NAME)
    issues = [node(n, day=n / 24, events=[labeled("bug", who("ada"))]) for n in range(1, count + 1)]
    state.graphql = NewestFirst(issues)
    with serve(state) as api:
        out.send((api, state.private_key))
        time.sleep(1e6)


class NewestFirst(FakePast):
    """Sorts once."""

    def _page(self, variables: dict[str, Any]) -> dict[str, Any]:
        start = int(variables["after"] or 0)
        end = min(start + variables["first"], len(self.issues))
        nodes = [self.issues[-1 - n] for n in range(start, end)]
        info = {"endCursor": str(end), "hasNextPage": end < len(self.issues)}
        issues = {"totalCount": len(self.issues), "pageInfo": info, "nodes": nodes}
        limit = {"remaining": self.remaining, "resetAt": "2020-01-01T00:00:00Z"}
        return {"data": {"rateLimit": limit, "repository": {"issues": issues}}}


class Measured(PostgresHistory):
    """A store that says how large it is."""

    def size(self) -> int:
        """Bytes of the issues' table, its indexes and large values."""
        row = self._row("SELECT pg_total_relation_size('history_issues') AS size", ())
        return int(row["size"]) if row else 0


@contextmanager
def opened() -> Iterator[Measured]:
    """The store over a new database."""
    with running_server() as server, fresh_database(server) as url, sync_pool(url, 2) as pool:
        yield Measured(pool)


def reload(count: int, queries: int) -> None:
    """Store records, then let a new process's index be built by the first search, and look for more."""
    with opened() as store:
        drawn = records(count + queries)
        repo = kept_all(store, islice(drawn, count))
        print(f"stored: {store.size() / count:,.0f} bytes a record")
        histories, before = Histories(store, MadeUp(1)), resident()
        query = next(drawn)
        began = time.monotonic()
        seconds, _ = timed(partial(histories.near, repo, query))
        passed = time.monotonic() - began
        print(f"first search over {count:,} records: {seconds:.0f} s of CPU time, {passed:.0f} s passed")
        print(f"memory: {resident() - before:.0f} MB")
        times = [timed(partial(histories.near, repo, query))[0] for query in islice(drawn, queries - 1)]
        print(f"whole searches, candidates fetched and compared: {spread(times)}")


def workers(processes: int, count: int, queries: int) -> None:
    """Several processes search the same history over one database: what each holds, and searches a second together."""
    with running_server() as server, fresh_database(server) as url, sync_pool(url, 2) as pool:
        kept_all(PostgresHistory(pool), records(count))
        spawned = multiprocessing.get_context("spawn")
        together, ends = spawned.Barrier(processes), [spawned.Pipe() for _ in range(processes)]
        for n, (_, theirs) in enumerate(ends):
            given = (url, count, queries, n, together, theirs)
            spawned.Process(target=worker, args=given, daemon=True).start()
        told = [ours.recv() for ours, _ in ends]
    for built_in, megabytes, took, _ in told:
        print(
            f"index built in {built_in:.0f} s of CPU time, {megabytes:.0f} MB; whole searches: {spread(took)}"
        )
    passed = max(seconds for *_, seconds in told)
    print(f"{processes} processes: {processes * queries / passed:.0f} searches a second together")


def worker(url: str, count: int, queries: int, number: int, together: Barrier, out: Connection) -> None:
    """A process of `workers`: CPU seconds and megabytes of its index, CPU seconds of each search, all seconds."""
    with sync_pool(url, 2) as pool:
        store = PostgresHistory(pool)
        repo = store.find(NAME, 1)
        assert repo is not None
        histories, before = Histories(store, MadeUp(1)), resident()
        wanted = islice(records(count + queries, seed=1 + number), count, None)
        asked = [replace(query, id=f"new {query.id}") for query in wanted]
        built_in, _ = timed(partial(histories.near, repo, asked[0]))
        megabytes = resident() - before
        together.wait()
        began = time.monotonic()
        took = [timed(partial(histories.near, repo, query))[0] for query in asked]
        out.send((built_in, megabytes, took, time.monotonic() - began))


def kept_all(store: PostgresHistory, past: Iterator[Record]) -> RepoHistory:
    """A repository with these records."""
    repo = store.begin(NAME, "made-up", 1, 1)
    issues = map(stored, past)
    while page := list(islice(issues, 1_000)):
        store.save_page(repo.key, page)
    return repo


def stored(record: Record) -> KeptIssue:
    """As a back-fill keeps it."""
    return KeptIssue(record.id, "Title", "", record.id, record.opened, Outcome(False), record)


def shape(file: Path | None) -> None:
    """How made-up records compare with those of an export; vectors of an export are not looked at."""
    sets = {"made up": list(records(2_500))}
    if file is not None:
        posts = read_tracker(file).posts
        sets[file.name] = list(records_of(posts, WordEncoder(), SignatureTable()))
    for name, held in sets.items():
        for part in ("title", "body", "error"):
            counts = Counter(word for record in held for word in getattr(record, part))
            words = [len(getattr(record, part)) for record in held]
            met = [sum(counts[word] for word in getattr(record, part)) / len(held) for record in held]
            print(
                f"{name}, {part}: {np.mean(words):.1f} words (95 %: {np.percentile(words, 95):.0f}); the commonest word"
                f" in {max(counts.values()) / len(held):.0%}; {sum(n == 1 for n in counts.values()) / len(held):.1f}"
                f" words a record that no other has; a search reads {np.mean(met):.2f} postings a record held"
            )


def facts(file: Path) -> None:
    """How often a report that is the same is among the first candidates, with the search by facts and without.

    All repositories are one here. The same: what a report says itself, and what a reader found.
    """
    trackers = dict(linked_trackers(file))
    posts = in_order(post for tracker in trackers.values() for post in tracker.posts)
    same = {a: [b] for a, b in (sorted(pair) for pair, right in read_pairs().items() if right)}
    for tracker in trackers.values():
        for at, others in tracker.queries().items():
            same.setdefault(tracker.posts[at].id, []).extend(others)
    queries = Tracker(tuple(posts), tuple(groups([post.id for post in posts], same))).queries()
    encoder = OnnxEncoder(None, load_settings().cache / "model")
    index, found = Index(encoder.dims), Counter[tuple[str, int]]()
    for at, record in enumerate(records_of(posts, encoder, SignatureTable())):
        if at in queries:
            *without, by_facts = index.searches(record)
            for name, lists in (("without facts", without), ("with facts", [*without, by_facts])):
                for most in (100, 40, 10, 5):
                    ids = {index.records[n].id for n in fused(lists, most)}
                    found[name, most] += bool(ids & queries[at])
        index.add(record)
    print(f"{len(posts)} reports, {len(queries)} with an earlier one that is the same")
    for (name, most), count in found.items():
        print(f"{name}: {count} among the first {most}")


def read(file: Path, number: int, processes: int) -> None:
    """How fast so many triage processes read reports for a back-fill, in pages and pieces as the service does."""
    with (gzip.open if file.suffix == ".gz" else open)(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in islice(lines, number)]
    posts = [
        Post(row["id"].rpartition("#")[2], row["title"], row["body"], tracker=row["id"].rpartition("#")[0])
        for row in rows
    ]
    with closing(TriagePool(ENGINE, processes)) as pool:
        recorder = InPieces(pool, processes)
        recorder.records(posts[:PAGE])
        pages = [posts[at : at + PAGE] for at in range(0, len(posts), PAGE)]
        began = time.perf_counter()
        records = [one for page in pages for one in recorder.records(page).records]
        passed = time.perf_counter() - began
    errors = sum(bool(one.lines or one.signatures or one.exception) for one in records)
    known = sum(bool(one.failures) for one in records)
    print(f"{len(records)} reports, {errors} show an error, {known} a known failure")
    pace = 3600 * len(posts) / PAGE / passed
    print(f"{1000 * passed / len(posts):.0f} ms by the clock a report, {pace:,.0f} pages an hour")


if __name__ == "__main__":
    command, *given = sys.argv[1:]
    numbers = [int(one.replace("_", "")) for one in given if one.replace("_", "").isdecimal()]
    if command == "shape":
        shape(Path(given[0]) if given else None)
    if command == "facts":
        facts(Path(given[0]))
    if command == "read":
        read(Path(given[0]), *(numbers + [1_000, 1][len(numbers) :]))
    if command == "search":
        search(*(numbers + [200_000, 200][len(numbers) :]))
    if command == "many":
        many(*(numbers + [5, 200_000, 100][len(numbers) :]))
    if command == "fill":
        fill(*(numbers or [100_000]))
    if command == "reload":
        reload(*(numbers + [200_000, 200][len(numbers) :]))
    if command == "workers":
        workers(*(numbers + [2, 100_000, 200][len(numbers) :]))
