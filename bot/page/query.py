"""The filters of the list, as its address has them."""

from __future__ import annotations

from typing import Literal
from urllib.parse import parse_qsl, urlencode

from pydantic import BaseModel, Field

from bot.db.connect import clean_text
from bot.page.sign_in import Session
from bot.page.tables import Cursor, Filters, Seen

_YES_NO: dict[str, bool | None] = {"": None, "yes": True, "no": False}


class PageQuery(BaseModel):
    """The query of the list; a form sends what was not chosen as an empty string."""

    installation: str = Field(default="", pattern=r"^\d{0,18}$")
    repo: str = Field(default="", max_length=200)
    outcome: Literal["", "posted", "would_post", "silent"] = ""
    symptom: str = Field(default="", max_length=40)
    corrected: Literal["", "yes", "no"] = ""
    draft: Literal["", "yes"] = ""
    before: str = Field(default="", pattern=r"^(\d{1,17}\.\d{1,18})?$")
    """Only triages older than this one (microseconds since 1970, then its number)."""

    def seen(self, session: Session) -> Seen:
        """What the session may see, narrowed to the chosen installation."""
        chosen = int(self.installation) if self.installation else None
        own = session.installation
        return Seen(own if own is not None else chosen, session.repos)

    def within(self, session: Session) -> Filters:
        """The filters, kept to what the session may see."""
        at, _, number = self.before.partition(".")
        return Filters(
            seen=self.seen(session),
            repo=clean_text(self.repo),
            outcome=self.outcome,
            symptom=clean_text(self.symptom),
            corrected=_YES_NO[self.corrected],
            draft=_YES_NO[self.draft],
            before=Cursor(int(at), int(number)) if at else None,
        )

    def link(self, before: Cursor | None = None) -> str:
        """The filters as text; `before` is where the next page begins."""
        values = self.model_dump(exclude_defaults=True, exclude={"before"})
        return urlencode(values | ({"before": str(before)} if before else {}))


def query_of(text: str) -> PageQuery | None:
    """The query in an address; None when it is none of ours."""
    try:
        return PageQuery.model_validate(dict(parse_qsl(text, max_num_fields=20)))
    except ValueError:  # pydantic's error is one, too
        return None


def same_view(text: str) -> str:
    """A query that a form sent back, rebuilt; "" when it is none of ours."""
    query = query_of(text)
    return query.link() if query is not None else ""
