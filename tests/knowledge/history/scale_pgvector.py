"""pgvector beside the index in memory: what docs/scale.md says of it. Not a test.

    python -m tests.knowledge.history.scale_pgvector [RECORDS] [QUERIES]

One repository's account vectors, made up, in a table of the embedded PostgreSQL: an HNSW graph over halfvec, and a scan
of it. Seconds are wall-clock times, since the server works in another process. The machine must be quiet.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from itertools import islice

import numpy as np
import psycopg

from knowledge.history.index import View
from knowledge.judging.features import Floats
from tests.bot.service.databases import fresh_database, running_server
from tests.knowledge.history.made_up import DIMS, records
from tests.knowledge.history.scale import spread

TOP = 60
"""Neighbors that a search asks for."""
WIDTHS = (60, 120, 240)
"""`hnsw.ef_search`: how many candidates a walk through the graph keeps."""


def main(count: int, queries: int) -> None:
    """Fill the table, build the graph, and search it at each width."""
    drawn = np.array([record.vectors[1] for record in records(count + queries)], np.float16).astype(
        np.float32
    )
    held, asked = drawn[:count], drawn[count:]
    exact = [set(np.argsort(-(held @ query), kind="stable")[:10].tolist()) for query in asked]
    in_memory(held, asked, exact)
    with (
        running_server() as server,
        fresh_database(server) as url,
        psycopg.connect(url, autocommit=True) as db,
    ):
        db.execute("CREATE EXTENSION vector")
        db.execute(f"CREATE TABLE kept (id int PRIMARY KEY, account halfvec({DIMS}))")
        began = time.monotonic()
        with db.cursor() as cursor, cursor.copy("COPY kept FROM STDIN") as rows:
            for number, vector in enumerate(held):
                rows.write_row((number, told(vector)))
        print(f"{count:,} rows copied in {time.monotonic() - began:.0f} s")
        report("scan", db, asked, exact)
        db.execute("SET maintenance_work_mem = '1GB'")
        began = time.monotonic()
        db.execute("CREATE INDEX graph ON kept USING hnsw (account halfvec_ip_ops)")
        size = db.execute("SELECT pg_relation_size('graph'), pg_total_relation_size('kept')").fetchone()
        assert size is not None
        print(f"graph: {time.monotonic() - began:.0f} s, {size[0] / count:,.0f} bytes a vector")
        for width in WIDTHS:
            db.execute(f"SET hnsw.ef_search = {width}")
            report(f"graph, ef_search {width}", db, asked, exact)
        began = time.monotonic()
        for number, vector in enumerate(islice(asked, 100)):
            db.execute("INSERT INTO kept VALUES (%s, %s)", (count + number, told(vector)))
        print(f"insert: {(time.monotonic() - began) * 10:.1f} ms a row")


def in_memory(held: Floats, asked: Floats, exact: Sequence[set[int]]) -> None:
    """The same searches by the service's own index."""
    view = View(DIMS)
    for vector in held:
        view.add(vector)
    fits, seconds, found = np.ones(len(held), bool), [], []
    for query in asked:
        began = time.monotonic()
        found.append(set(view.nearest(query, fits, TOP).tolist()))
        seconds.append(time.monotonic() - began)
    tell("in memory", seconds, found, exact)


def report(name: str, db: psycopg.Connection, asked: Floats, exact: Sequence[set[int]]) -> None:
    """Search by SQL."""
    seconds, found = [], []
    for query in asked:
        began = time.monotonic()
        rows = db.execute(
            "SELECT id FROM kept ORDER BY account <#> %s::halfvec LIMIT %s", (told(query), TOP)
        ).fetchall()
        seconds.append(time.monotonic() - began)
        found.append({int(row[0]) for row in rows})
    tell(name, seconds, found, exact)


def tell(name: str, seconds: Sequence[float], found: Sequence[set[int]], exact: Sequence[set[int]]) -> None:
    """Print times, and the share of the ten exact neighbors that were found."""
    recall = np.mean([len(ids & wanted) / len(wanted) for ids, wanted in zip(found, exact, strict=True)])
    print(f"{name}: {spread(seconds)}, recall@10 {recall:.3f}", flush=True)


def told(vector: Floats) -> str:
    """As pgvector reads it."""
    return f"[{','.join(f'{one:.5g}' for one in vector)}]"


if __name__ == "__main__":
    given = [int(one.replace("_", "")) for one in sys.argv[1:]]
    main(*(given + [200_000, 200][len(given) :]))
