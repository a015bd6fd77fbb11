"""The GitHub App's store on PostgreSQL."""

from __future__ import annotations

from bot.db.feedback_tables import FeedbackTables
from bot.db.repo_tables import RepoTables
from bot.db.triage_tables import TriageTables
from bot.db.write_budget import WriteBudget


class PostgresStore(TriageTables, FeedbackTables, RepoTables, WriteBudget):
    """`bot.github.ports.Store` over a pool; safe to call from several threads and processes."""
