"""The GitHub App's store on PostgreSQL."""

from __future__ import annotations

from bot.github.store.feedback import FeedbackTables
from bot.github.store.repos import RepoTables
from bot.github.store.triages import TriageTables
from bot.github.store.write_budget import WriteBudget


class PostgresStore(TriageTables, FeedbackTables, RepoTables, WriteBudget):
    """`bot.github.ports.Store` over a pool; safe to call from several threads and processes."""
