"""The filters of the maintainers' page, as they stand in its address."""

from __future__ import annotations

from typing import Literal
from urllib.parse import parse_qsl, urlencode

from pydantic import BaseModel, Field

from bot.db.connect import clean_text
from bot.page.sign_in import Session
from bot.page.tables import Filters

_CORRECTED: dict[str, bool | None] = {"": None, "yes": True, "no": False}


class PageQuery(BaseModel):
    """The query of the page; a form sends what was not chosen as an empty string."""

    installation: str = Field(default="", pattern=r"^\d{0,18}$")
    repo: str = Field(default="", max_length=200)
    outcome: str = Field(default="", max_length=40)
    symptom: str = Field(default="", max_length=40)
    corrected: Literal["", "yes", "no"] = ""
    page: int = Field(default=1, ge=1, le=100_000)

    def within(self, session: Session) -> Filters:
        """The filters, kept to what the session may see."""
        chosen = int(self.installation) if self.installation else None
        return Filters(
            installation=session.installation if session.installation is not None else chosen,
            repo=clean_text(self.repo),
            outcome=clean_text(self.outcome),
            symptom=clean_text(self.symptom),
            corrected=_CORRECTED[self.corrected],
            page=self.page,
        )

    def link(self, page: int | None = None) -> str:
        """The query as text, for another page of the same filters."""
        values = self.model_dump(exclude_defaults=True) | ({"page": page} if page else {})
        return urlencode(values)


def query_of(text: str) -> PageQuery | None:
    """The query in an address; None when it is none of ours."""
    try:
        return PageQuery.model_validate(dict(parse_qsl(text, max_num_fields=20)))
    except ValueError:  # pydantic's error is one, too
        return None


def same_view(text: str) -> str:
    """A query that a form sent back, made anew; "" when it is none of ours."""
    query = query_of(text)
    return query.link() if query is not None else ""
