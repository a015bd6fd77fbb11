"""Reading a repository's past: the queries fit GitHub's schema, nothing is written, and how issues ended is right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.github.app import App
from bot.github.calls import GraphQl, graphql_url
from bot.github.past_issues import (
    ONE_QUERY,
    PAGE_QUERY,
    TIMELINE_QUERY,
    VISIBILITY_QUERY,
    GitHubPast,
    past_issue,
)
from bot.github.past_outcome import is_person
from bot.github.records import Gone, Outage, RepoRef, TryAgain
from bot.github.releases import RELEASES_QUERY, TAGS_QUERY, Search
from bot.history.records import Outcome, Progress
from tests.bot.fake_github import APP_ID, FakeGitHub, Fault, once, serve
from tests.bot.history.fake_past import (
    DAY_ONE,
    NAME,
    FakePast,
    at,
    closed,
    labeled,
    marked,
    node,
    pull,
    said,
    who,
)

# Fields and their types, as far as the queries go, from https://docs.github.com/public/fpt/schema.docs.graphql
SCHEMA: dict[str, dict[str, str]] = {
    "Query": {"rateLimit": "RateLimit", "repository": "Repository"},
    "RateLimit": {"remaining": "", "resetAt": ""},
    "Repository": {
        "issues": "IssueConnection",
        "issue": "Issue",
        "releases": "ReleaseConnection",
        "refs": "RefConnection",
        "ref": "Ref",
        **dict.fromkeys(("nameWithOwner", "databaseId", "visibility"), ""),
    },
    "IssueConnection": {"totalCount": "", "pageInfo": "PageInfo", "nodes": "Issue"},
    "PageInfo": dict.fromkeys(("startCursor", "endCursor", "hasNextPage", "hasPreviousPage"), ""),
    "Issue": {
        **dict.fromkeys(
            ("number", "title", "body", "url", "createdAt", "updatedAt", "closedAt", "state", "stateReason"),
            "",
        ),
        "author": "Actor",
        "comments": "IssueCommentConnection",
        "closedByPullRequestsReferences": "PullRequestConnection",
        "timelineItems": "IssueTimelineItemsConnection",
        "repository": "Repository",
    },
    "Actor": {"login": ""},
    "IssueCommentConnection": {"nodes": "IssueComment"},
    "IssueComment": {"author": "Actor", "authorAssociation": "", "bodyText": "", "createdAt": ""},
    "PullRequestConnection": {"nodes": "PullRequest"},
    "PullRequest": {
        **dict.fromkeys(("number", "url", "merged", "mergedAt"), ""),
        "mergeCommit": "Commit",
        "repository": "Repository",
    },
    "Commit": {"oid": "", "url": "", "committedDate": "", "repository": "Repository"},
    "IssueTimelineItemsConnection": {"nodes": "IssueTimelineItems", "pageInfo": "PageInfo"},
    "IssueTimelineItems": {},
    "LabeledEvent": {"createdAt": "", "actor": "Actor", "label": "Label"},
    "UnlabeledEvent": {"createdAt": "", "actor": "Actor", "label": "Label"},
    "Label": {"name": ""},
    "ClosedEvent": {"createdAt": "", "closer": "Closer"},
    "Closer": {},
    "MarkedAsDuplicateEvent": {"actor": "Actor", "canonical": "IssueOrPullRequest"},
    "UnmarkedAsDuplicateEvent": {"actor": "Actor", "canonical": "IssueOrPullRequest"},
    "IssueOrPullRequest": {},
    "ReleaseConnection": {"pageInfo": "PageInfo", "nodes": "Release"},
    "Release": dict.fromkeys(("tagName", "createdAt", "publishedAt", "isDraft", "isPrerelease"), ""),
    "RefConnection": {"pageInfo": "PageInfo", "nodes": "Ref"},
    "Ref": {"compare": "Comparison", "name": "", "target": "GitObject"},
    "GitObject": {},
    "Tag": {"target": "GitObject"},
    "Comparison": {"status": ""},
}
UNIONS = {
    "IssueTimelineItems": {
        "LabeledEvent",
        "UnlabeledEvent",
        "ClosedEvent",
        "MarkedAsDuplicateEvent",
        "UnmarkedAsDuplicateEvent",
    },
    "Closer": {"Commit", "PullRequest"},
    "IssueOrPullRequest": {"Issue", "PullRequest"},
    "GitObject": {"Commit", "Tag"},
}
ARGUMENTS = {
    "repository": {"owner", "name"},
    "issues": {"first", "after", "orderBy", "filterBy"},
    "issue": {"number"},
    "stateReason": {"enableDuplicate"},
    "comments": {"last"},
    "closedByPullRequestsReferences": {"first", "includeClosedPrs"},
    "timelineItems": {"last", "before", "itemTypes"},
    "releases": {"first", "after", "orderBy"},
    "refs": {"first", "after", "refPrefix", "orderBy"},
    "ref": {"qualifiedName"},
    "compare": {"headRef"},
}


def not_in_schema(query: str) -> list[str]:
    """Names in a query that the schema above does not have at that place."""
    head, _, rest = query.partition("{")
    assert re.fullmatch(r"query\((\$\w+: (String|Int|IssueOrder|IssueFilters)!?[, \n]*)+\)\s*", head), head
    tokens = re.findall(r"\.\.\.|[{}]|\([^)]*\)|\w+:|\w+", rest)
    wrong: list[str] = []

    def selection(kind: str, place: int) -> int:
        while tokens[place] != "}":
            word = tokens[place]
            if word == "...":
                assert tokens[place + 1] == "on"
                if tokens[place + 2] not in UNIONS.get(kind, ()):
                    wrong.append(f"{kind}: {tokens[place + 2]}")
                place = selection(tokens[place + 2], place + 4)
                continue
            if word.endswith(":"):
                place += 1
                word = tokens[place]
            if word != "__typename" and word not in SCHEMA[kind]:
                wrong.append(f"{kind}.{word}")
            place += 1
            if tokens[place].startswith("("):
                given = set(re.findall(r"(\w+):", re.sub(r"\{[^}]*\}|\[[^\]]*\]", "", tokens[place])))
                wrong.extend(f"{word}({name})" for name in given - ARGUMENTS.get(word, set()))
                place += 1
            if tokens[place] == "{":
                place = selection(SCHEMA[kind].get(word, "Query") or "Query", place + 1)
        return place + 1

    selection("Query", 0)
    return wrong


@pytest.mark.parametrize(
    "query",
    [PAGE_QUERY, ONE_QUERY, TIMELINE_QUERY, RELEASES_QUERY, TAGS_QUERY, VISIBILITY_QUERY],
    ids=["page", "one", "timeline", "releases", "tags", "visibility"],
)
def test_every_name_that_is_asked_for_is_in_githubs_schema(query: str) -> None:
    assert not_in_schema(query) == []


def test_the_check_of_names_finds_a_wrong_one() -> None:
    wrong = not_in_schema("query($owner: String!) { repository(own: $owner) { isues { nodes { number } } } }")
    assert wrong[:2] == ["repository(own)", "Repository.isues"]


class Kept(GraphQl):
    """Answers from a past, and keeps what was asked."""

    def __init__(self, past: FakePast) -> None:
        self.past = past
        self.asked: list[str] = []

    def query(self, text: str, variables: Any) -> dict[str, Any]:
        self.asked.append(text)
        answer = self.past(text, dict(variables))
        if answer["data"] is None:
            raise Outage("GitHub did not finish the query", after=5)
        return dict(answer["data"])


def reader(past: FakePast, **more: Any) -> GitHubPast:
    return GitHubPast(Kept(past), RepoRef(101, NAME), sleep=lambda seconds: None, **more)


def outcome(**more: Any) -> Outcome:
    return past_issue(node(12, **more), NAME).outcome


def read(source: GitHubPast, progress: Progress = Progress()) -> tuple[list[str], Progress]:  # noqa: B008
    ids: list[str] = []
    progress = source.start(progress)
    for page in source.pages(progress):
        ids += [issue.post.id for issue in page.issues]
        progress = page.progress
    return ids, progress


CLOSED = {"state": "CLOSED", "stateReason": "COMPLETED", "closedAt": at(3)}


def test_an_issue_closed_by_a_pull_request_names_it_and_its_commit() -> None:
    found = outcome(**CLOSED, events=[closed(None, 2), closed(pull(1301))])
    assert (found.closed_by, found.fix_commit, found.is_open) == ("#1301", "a" * 40, False)
    assert found.fixed_at == datetime(2024, 5, 4, tzinfo=UTC)


def test_a_commit_and_another_repositorys_pull_request() -> None:
    commit = {
        "__typename": "Commit",
        "oid": "b" * 40,
        "url": "x",
        "committedDate": at(3),
        "repository": {"nameWithOwner": NAME},
    }
    found = outcome(**CLOSED, events=[closed(commit)])
    assert (found.closed_by, found.fix_commit) == ("b" * 10, "b" * 40)
    other = outcome(**CLOSED, events=[closed(pull(7, repo="acme/core"))])
    assert (other.closed_by, other.fix_commit) == ("acme/core#7", "")


def test_a_linked_pull_request_counts_when_it_was_merged_before_the_issue_was_closed_by_hand() -> None:
    by_hand = [closed(None)]
    assert outcome(**CLOSED, events=by_hand, linked=[pull(8)]).closed_by == "#8"
    assert outcome(**CLOSED, events=by_hand, linked=[pull(8, day=90)]).closed_by == ""
    unread: Any = [None]
    assert outcome(**CLOSED, events=by_hand, linked=unread).closed_by == ""
    wontfix = {**CLOSED, "stateReason": "NOT_PLANNED"}
    assert outcome(**wontfix, events=by_hand, linked=[pull(8)]).closed_by == ""


def test_labels_say_who_set_them_and_whether_that_was_a_person() -> None:
    events = [
        labeled("hang", who("ada")),
        labeled("stale", who("stale", "Bot")),
        labeled("triaged", who("pytorchmergebot")),
        labeled("hang", None, kind="UnlabeledEvent"),
    ]
    found = past_issue(node(12, events=events), NAME).labels
    assert [(c.label, c.added, c.by, c.by_person) for c in found] == [
        ("hang", True, "ada", True),
        ("stale", True, "stale", False),
        ("triaged", True, "pytorchmergebot", False),
        ("hang", False, "ghost", False),
    ]


@pytest.mark.parametrize(
    ("login", "person"),
    [
        ("talbot", True),
        ("Abbot", True),
        ("ghost", False),
        ("stale[bot]", False),
        ("facebook-github-bot", False),
        ("k8s-ci-robot", False),
        ("acme_bot", False),
        ("PyTorchMergeBot", False),
        ("dependabot", False),
    ],
)
def test_who_is_a_person_by_the_name_alone(login: str, person: bool) -> None:
    assert is_person(login) == person


def test_events_that_do_not_fit_into_a_page_are_read_too() -> None:
    events = [labeled(f"l{n}", who("ada"), n) for n in range(7)]
    past = FakePast([node(1, events=events), node(2, events=events[:1])], page=3)
    [page] = reader(past).pages(Progress(source="github"))
    many, one = sorted(page.issues, key=lambda issue: -len(issue.labels))
    assert [change.label for change in many.labels] == [f"l{n}" for n in range(7)]
    assert len(one.labels) == 1
    assert [change.label for change in reader(past).one(1).labels] == [f"l{n}" for n in range(7)]
    forever = FakePast([node(1, events=[labeled("x", who("ada"))] * 50)], page=1)
    assert len(reader(forever).one(1).labels) == 21, "no further than twenty pages"


NOT_PLANNED = {"state": "CLOSED", "stateReason": "NOT_PLANNED", "closedAt": at(3)}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("I can’t reproduce this on 2.4.", "not_reproduced"),
        ("Closing: works as intended.", "intended"),
        ("We won't fix this in 1.x.", "wont_fix"),
        ("1.x is no longer supported, sorry.", "unsupported"),
        ("This is an upstream problem of NCCL.", "elsewhere"),
        ("Closing for lack of response.", "no_answer"),
        ("This issue is stale: no activity for 60 days.", "inactive"),
        ("Closed as inactive after no response.", "no_answer"),
        ("Did it turn out that it works as expected?", ""),
        ("Not a bug, and the version is no longer supported anyway.", ""),
        ("It works as intended. " + "So much to say. " * 30, ""),
        ("Closing.", ""),
    ],
)
def test_why_an_issue_was_not_planned_is_said_where_it_is_plain(text: str, why: str) -> None:
    comments = [said("ada", "works as intended", "MEMBER", day=1), said("ada", text, "MEMBER")]
    assert outcome(**NOT_PLANNED, comments=comments).why == why
    assert outcome(**CLOSED, comments=comments).why == ""


def test_what_is_said_by_others_or_afterward_is_not_why() -> None:
    comments = [
        said("stale", "Marked as stale.", kind="Bot", day=2),
        said("eve", "works as intended"),
        {**said("x", "by design"), "author": None},
        said("ada", "not a bug", "MEMBER", day=4),
    ]
    assert outcome(**NOT_PLANNED, comments=comments).why == "inactive"
    unread: Any = {**NOT_PLANNED, "closedAt": None}
    assert outcome(**unread, comments=comments).why == ""


def test_else_a_well_known_label_says_why() -> None:
    ada = who("ada")
    wontfix = labeled("resolution: WontFix", ada)
    assert outcome(**NOT_PLANNED, events=[wontfix, labeled("bug", ada)]).why == "wont_fix"
    off = labeled("resolution: WontFix", ada, kind="UnlabeledEvent")
    assert outcome(**NOT_PLANNED, events=[wontfix, off]).why == ""
    assert outcome(**NOT_PLANNED, events=[wontfix, labeled("stale", ada)]).why == "", "which of them?"
    assert outcome(**NOT_PLANNED, events=[closed(None)]).why == ""


def test_who_opened_an_issue_and_when_the_project_answered() -> None:
    comments = [
        said("eve", "same here", day=1),
        said("reporter", "I maintain this", "MEMBER", day=2),
        said("ci", "x", "MEMBER", "Bot", day=3),
        said("ada", "/triage", "MEMBER", day=4),
        said("ada", "looking", "MEMBER", day=5),
        said("ada", "found", "MEMBER", day=6),
    ]
    found = past_issue(node(12, comments=comments), NAME)
    assert (found.author, found.answered_at) == ("reporter", datetime(2024, 5, 6, tzinfo=UTC))
    assert past_issue(node(12, comments=comments[:4]), NAME).answered_at is None
    assert past_issue(node(12, author=who("ci", "Bot")), NAME).author == ""


def test_duplicates_are_what_people_of_the_project_marked_and_did_not_take_back() -> None:
    events = [
        marked(3, who("ada")),
        marked(4, who("ada")),
        marked(4, who("ada"), "UnmarkedAsDuplicateEvent"),
        marked(5, who("dedupe", "Bot")),
        marked(6, who("ada"), repo="acme/other"),
    ]
    comments = [
        said("ada", "Duplicate of #2, closing.", "MEMBER"),
        said("eve", "Duplicate of #9"),
        said("ada", "This is not a duplicate of #8", "MEMBER"),
        said("ada", "Duplicate of #12", "MEMBER"),
        said("ada", "Duplicate of https://github.com/acme/secret/issues/10", "MEMBER"),
        said("ada", "Duplicate of https://gitlab.com/acme/train/-/issues/11", "MEMBER"),
        said("ada", "Duplicate of https://github.example/Acme/Train/issues/7", "MEMBER"),
    ]
    assert outcome(events=events, comments=comments).duplicates == ("3", "7", "2")


def test_others_are_people_besides_the_author_and_the_project() -> None:
    comments = [
        said("reporter", "more"),
        said("eve", "same here"),
        said("eve", "still"),
        said("ada", "looking", "MEMBER"),
        said("ci", "x", kind="Bot"),
        said("bob", "+1"),
    ]
    assert outcome(comments=comments).others == 2


def test_a_reopened_issue_is_open_whatever_closed_it_before() -> None:
    found = outcome(state="OPEN", stateReason="REOPENED", events=[closed(pull(1301))])
    assert found.is_open and found.closed_by == "" and found.reason == ""


def test_all_pages_newest_first_and_no_further_than_asked() -> None:
    past = FakePast([node(n) for n in range(1, 131)])
    ids, progress = read(reader(past))
    assert ids == [str(n) for n in range(130, 0, -1)]
    assert (progress.cursor, progress.read, progress.total) == ("", 130, 130)
    assert progress.through
    assert read(reader(past, most=7))[0] == [str(n) for n in range(130, 123, -1)]
    assert read(reader(past, most=50))[0][-1] == "81"
    since = reader(past, since=datetime(2024, 9, 1))
    assert read(since)[0][-1] == "123", "opened on the first of September"


def test_a_run_that_was_cut_off_goes_on_and_one_of_another_scope_starts_over() -> None:
    past = FakePast([node(n) for n in range(1, 131)])
    source = reader(past)
    first = next(source.pages(source.start(Progress())))
    assert read(reader(past), first.progress)[0][0] == "80"
    assert read(reader(past, most=3), first.progress)[0] == ["130", "129", "128"]
    assert read(reader(past), Progress(source="file:1", cursor="9"))[0][0] == "130"


def test_after_a_whole_run_only_what_changed_is_read() -> None:
    past = FakePast([node(n) for n in range(1, 131)])
    _, progress = read(reader(past))
    assert read(reader(past), progress)[0] == []
    past.issues[4]["updatedAt"] = "2030-01-01T00:00:00Z"
    ids, again = read(reader(past), progress)
    assert ids == ["5"]
    assert again.through > progress.through


def test_a_page_too_large_for_github_is_halved_and_a_dead_github_is_given_up() -> None:
    past = FakePast([node(n) for n in range(1, 61)], too_large=20)
    assert len(read(reader(past))[0]) == 60
    past.too_large = 1
    with pytest.raises(Outage):
        read(reader(past))


def test_it_waits_for_the_next_hour_before_the_budget_is_used_up() -> None:
    waited: list[float] = []
    past = FakePast([node(1)], remaining=3)
    read(GitHubPast(Kept(past), RepoRef(1, NAME), sleep=waited.append))
    assert waited == [1.0]


def test_the_first_release_that_holds_a_commit_is_found_and_none_is_made_up() -> None:
    past = FakePast(
        releases=[
            ("v0.9.0", 1),
            ("v0.9.1", 4),
            ("v0.8.9", 6),
            ("v0.10.0rc1", 7),
            ("v0.9.2", 8),
            ("v1.0.0", 30),
        ],
        holds={"v0.9.2": {"a" * 40}, "v1.0.0": {"a" * 40, "b" * 40}},
    )
    when = DAY_ONE.replace(day=4)
    found = reader(past).first_holding([("a" * 40, when), ("b" * 40, when), ("c" * 40, when)])
    assert found == {"a" * 40: "v0.9.2", "b" * 40: "v1.0.0"}
    assert reader(past).first_holding([]) == {}


WHEN = DAY_ONE.replace(day=4)
"""Three days after DAY_ONE."""


def test_of_many_releases_few_are_asked_about() -> None:
    tags = [(f"v1.{n}.0", 4.0 + n) for n in range(200)]
    holds = {tag: {"a" * 40} for tag, _ in tags[150:]} | {tags[0][0]: {"b" * 40}}
    past = FakePast(releases=tags, holds=holds)
    assert reader(past).first_holding([("a" * 40, WHEN)]) == {"a" * 40: "v1.150.0"}
    assert len(past.compared) < 25, "not a hundred and fifty"
    past.compared.clear()
    holds |= {tag: {"b" * 40} for tag, _ in tags}
    assert reader(past).first_holding([("b" * 40, WHEN)]) == {"b" * 40: "v1.0.0"}
    assert past.compared == ["v1.0.0"]


@pytest.mark.parametrize("first", range(13))
def test_the_search_finds_the_first_wherever_it_is(first: int) -> None:
    tags = [str(n) for n in range(12)]
    search, asked = Search(tags), 0
    while tag := search.next():
        assert search.found == ""
        search.tell(int(tag) >= first)
        asked += 1
    assert search.found == ("" if first == 12 else str(first))
    assert asked <= 10
    assert Search([]).next() == Search([]).found == ""


def test_patch_releases_of_an_older_line_hide_no_release() -> None:
    old = [(f"v0.8.{n}", 4.0 + n) for n in range(20)]
    past = FakePast(
        releases=[*old, ("v0.9.0", 9), ("v0.10.0", 60)],
        holds={key: {"a" * 40} for key in ("v0.9.0", "v0.10.0")},
    )
    assert reader(past).first_holding([("a" * 40, WHEN)]) == {"a" * 40: "v0.9.0"}


def test_releases_of_several_packages_are_tried_by_date() -> None:
    tags = [("core@9.0", 5.0), ("cli@0.2", 6.0), ("core@9.1", 7.0)]
    past = FakePast(releases=tags, holds={"cli@0.2": {"a" * 40}, "core@9.1": {"a" * 40}})
    assert reader(past).first_holding([("a" * 40, WHEN)]) == {"a" * 40: "cli@0.2"}


def test_a_fix_older_than_the_releases_that_are_read_is_in_none() -> None:
    tags = [(f"v{n}.0", 4.0 + n) for n in range(30)]
    past = FakePast(releases=tags, holds={tag: {"a" * 40, "b" * 40} for tag, _ in tags}, page=1)
    late = DAY_ONE.replace(month=6)
    found = reader(past).first_holding([("a" * 40, WHEN), ("b" * 40, late)])
    assert found == {"b" * 40: "v27.0"}, (
        "ten pages hold v20.0 to v29.0; of the other fix v20.0 would be wrong"
    )
    past.page = 3
    assert reader(past).first_holding([("a" * 40, WHEN)]) == {"a" * 40: "v0.0"}, "all were read"


def test_what_was_read_of_the_releases_is_kept_and_no_more_is_read_than_is_needed() -> None:
    tags = [(f"v{n}.0", 4.0 + n) for n in range(30)]
    past = FakePast(releases=tags, page=5)
    source = reader(past)
    asked: list[str] = source._graphql.asked  # type: ignore[attr-defined]
    for _ in range(2):
        source.first_holding([("a" * 40, datetime(2024, 5, 31, tzinfo=UTC))])
        assert asked.count(RELEASES_QUERY) == 2
    source.first_holding([("a" * 40, DAY_ONE)])
    assert asked.count(RELEASES_QUERY) == 6


def test_without_releases_tags_that_are_versions_count() -> None:
    past = FakePast(
        releases=[("draft", 9)],
        tags=[("nightly", 5), ("v1.0-rc1", 6), ("v1.0", 8), ("v1.1", 9), ("a-tree", 7)],
        holds={key: {"a" * 40} for key in ("nightly", "v1.0-rc1", "v1.0", "v1.1")},
    )
    assert reader(past).first_holding([("a" * 40, WHEN)]) == {"a" * 40: "v1.0"}
    past.tags = [("data-1.0", 5)]
    past.holds["data-1.0"] = {"a" * 40}
    assert reader(past).first_holding([("a" * 40, WHEN)]) == {"a" * 40: "data-1.0"}, "an annotated tag"
    past.tags = []
    assert reader(past).first_holding([("a" * 40, WHEN)]) == {}


def test_looking_releases_up_leaves_the_service_its_budget() -> None:
    waited: list[float] = []
    past = FakePast(releases=[("v1", 9)], remaining=3)
    GitHubPast(Kept(past), RepoRef(1, NAME), sleep=waited.append).first_holding([("a" * 40, DAY_ONE)])
    assert waited == [1.0]
    GitHubPast(Kept(past), RepoRef(1, NAME), tries=1, sleep=waited.append).first_holding(
        [("a" * 40, DAY_ONE)]
    )
    assert waited == [1.0], "while a report is triaged nothing waits"


def test_where_graphql_is() -> None:
    assert graphql_url("https://api.github.com") == "https://api.github.com/graphql"
    assert graphql_url("https://git.example.org/api/v3/") == "https://git.example.org/api/graphql"


@pytest.fixture
def served() -> Iterator[tuple[FakeGitHub, App]]:
    state = FakeGitHub()
    with serve(state) as url:
        state.repo(NAME)
        yield state, App(APP_ID, state.private_key, url, seconds_between_writes=0)


def test_over_a_socket_with_the_apps_token_nothing_is_written(served: tuple[FakeGitHub, App]) -> None:
    state, app = served
    state.graphql = FakePast([node(n) for n in range(1, 61)], releases=[("v1", 9)])
    installation, repo = app.find_repository(NAME)
    source = app.history_of(installation, repo)
    ids, _ = read(source)
    source.first_holding([("a" * 40, DAY_ONE)])
    assert (len(ids), repo) == (60, RepoRef(state.repo(NAME).id, NAME))
    assert source.one(5).post.title == "Title 5"
    with pytest.raises(Gone):
        source.one(999)
    assert state.writes() == []
    assert {verb for verb, path in state.requests if path != "/graphql" and "access_tokens" not in path} == {
        "GET"
    }
    assert all(
        asked["query"].startswith("query") and "mutation" not in asked["query"] for asked in state.queries
    )
    for asked in state.queries:
        assert not_in_schema(asked["query"]) == []


def test_what_is_no_query_is_not_sent(served: tuple[FakeGitHub, App]) -> None:
    state, app = served
    with pytest.raises(ValueError, match="only queries"):
        app.past(1, RepoRef(1, NAME))._graphql.query("mutation { addStar }", {})  # type: ignore[attr-defined]
    assert state.queries == []


@pytest.mark.parametrize("kind", ["secondary", "retry_after", "502", "drop_before", "primary"])
def test_limits_and_outages_are_waited_for(served: tuple[FakeGitHub, App], kind: Any) -> None:
    state, app = served
    state.graphql = FakePast([node(n) for n in range(1, 4)])
    waited: list[float] = []
    source = app.history_of(1, RepoRef(100, NAME))
    source._sleep = waited.append
    source._graphql._caller._pause = type("P", (), {"check": lambda s: None, "learn": lambda s, e: None})()  # type: ignore[assignment]
    state.faults = once("POST", "/graphql", Fault(kind, seconds=2.0))
    assert read(source)[0] == ["3", "2", "1"]
    assert len(waited) == 1 and waited[0] >= 1


def test_an_unknown_repository_is_gone(served: tuple[FakeGitHub, App]) -> None:
    with pytest.raises(Gone):
        served[1].find_repository("acme/none")


class Moody(Kept):
    """Refuses the first queries."""

    def __init__(self, past: FakePast, refusals: int) -> None:
        super().__init__(past)
        self.refusals = refusals

    def query(self, text: str, variables: Any) -> dict[str, Any]:
        self.refusals -= 1
        if self.refusals >= 0:
            raise TryAgain("the rate limit is reached", after=7)
        return super().query(text, variables)


def test_a_rate_limit_is_waited_for_and_given_up_after_so_many_tries() -> None:
    past = FakePast([node(1)], releases=[("v1", 9)], holds={"v1": {"a" * 40}})

    def source(refusals: int) -> tuple[GitHubPast, list[float]]:
        waited: list[float] = []
        made = GitHubPast(Moody(past, refusals), RepoRef(101, NAME), tries=3, sleep=waited.append)
        return made, waited

    made, waited = source(2)
    assert (read(made)[0], waited) == (["1"], [7, 7])
    made, waited = source(3)
    with pytest.raises(TryAgain):
        read(made)
    assert waited == [7, 7]
    made, waited = source(2)
    assert made.first_holding([("a" * 40, DAY_ONE)]) == {"a" * 40: "v1"}
    assert waited == [7, 7]
    made, waited = source(9)
    with pytest.raises(TryAgain):
        made.first_holding([("a" * 40, DAY_ONE)])


class Named(GraphQl):
    """Knows the repository's visibility."""

    def __init__(self) -> None:
        pass

    def query(self, text: str, variables: Any) -> dict[str, Any]:
        assert text == VISIBILITY_QUERY
        return {"repository": {"databaseId": 101, "visibility": "PRIVATE"}}


def test_a_repository_that_took_another_ones_name_has_no_visibility() -> None:
    assert GitHubPast(Named(), RepoRef(101, NAME)).visibility() == "PRIVATE"
    assert GitHubPast(Named(), RepoRef(102, NAME)).visibility() == ""
