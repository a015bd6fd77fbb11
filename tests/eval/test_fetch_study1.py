"""`fetch-study1` against a local stand-in for GitHub's API."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from openpyxl import Workbook
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from eval.fetch_study1 import FetchError, Package, PoliteGitHub, fetch_issues, fetch_sheets, pinned
from knowledge.training.records import labelled_records

FAULT = ["Link", "distributed-specific", "stage", "inner-category", "leaf category", "fix pattern"]
HOWTO = ["Link", "How-to topic", "sub-topic"]
SHEETS = Path(__file__).parents[3] / "shared" / "study1"


@pytest.fixture
def github(httpserver: HTTPServer) -> Iterator[Callable[..., PoliteGitHub]]:
    opened: list[PoliteGitHub] = []

    def make(token: str | None = None, waits: list[float] | None = None) -> PoliteGitHub:
        wait = waits.append if waits is not None else lambda _: None
        one = PoliteGitHub(token, httpserver.url_for(""), wait=wait, now=lambda: 1000.0)
        opened.append(one.__enter__())
        return one

    yield make
    for one in opened:
        one.__exit__(None, None, None)


def workbook(file: Path) -> bytes:
    book = Workbook()
    faults = book.active
    assert faults is not None
    faults.title = "faults"
    faults.append(FAULT)
    faults.append(["https://github.com/o/r/issues/1", 1, "package build and import error", "", "", ""])
    book.create_sheet("how-to questions").append(HOWTO)
    book.save(file)
    return file.read_bytes()


def package(content: bytes, sha256: str | None = None) -> Package:
    digest = sha256 or hashlib.sha256(content).hexdigest()
    return Package(
        "o/package", "c0ffee", (("some dir/final categories.xlsx", "final_categories.xlsx", digest),)
    )


def test_the_package_is_pinned_by_commit_and_checksums() -> None:
    made = pinned()
    assert len(made.commit) == 40
    assert all(len(sha256) == 64 for _, _, sha256 in made.files)
    assert sum("reliability_analysis_round" in name for _, name, _ in made.files) == 5


@pytest.mark.shared
def test_the_checksums_are_those_of_the_sheets() -> None:
    if not SHEETS.exists():
        pytest.skip("needs the data beside the repository: ../shared/study1")
    for _, name, sha256 in pinned().files:
        assert hashlib.sha256((SHEETS / name).read_bytes()).hexdigest() == sha256


def test_a_sheet_is_fetched_at_the_commit_with_the_token(
    httpserver: HTTPServer, github: Callable[..., PoliteGitHub], tmp_path: Path
) -> None:
    content = b"sheet"
    httpserver.expect_oneshot_request(
        "/repos/o/package/contents/some dir/final categories.xlsx",
        query_string={"ref": "c0ffee"},
        headers={"Authorization": "Bearer secret", "Accept": "application/vnd.github.raw+json"},
    ).respond_with_data(content)
    fetch_sheets(package(content), github("secret"), tmp_path)
    assert (tmp_path / "final_categories.xlsx").read_bytes() == content
    fetch_sheets(package(content), github("secret"), tmp_path)  # there already: nothing is asked
    httpserver.check_assertions()


def test_a_sheet_of_another_content_is_refused(
    httpserver: HTTPServer, github: Callable[..., PoliteGitHub], tmp_path: Path
) -> None:
    httpserver.expect_request("/repos/o/package/contents/some dir/final categories.xlsx").respond_with_data(
        "x"
    )
    with pytest.raises(FetchError, match="does not match the pinned checksum"):
        fetch_sheets(package(b"", "0" * 64), github(), tmp_path)
    assert not (tmp_path / "final_categories.xlsx").exists()


def test_a_sheet_that_is_gone_is_told(
    github: Callable[..., PoliteGitHub], httpserver: HTTPServer, tmp_path: Path
) -> None:
    httpserver.expect_request("/repos/o/package/contents/some dir/final categories.xlsx").respond_with_data(
        "", 404
    )
    with pytest.raises(FetchError, match="HTTP 404"):
        fetch_sheets(package(b""), github(), tmp_path)


def test_a_limit_is_waited_for_as_it_says(
    httpserver: HTTPServer, github: Callable[..., PoliteGitHub]
) -> None:
    replies = iter(
        [
            Response("", 403, {"retry-after": "7"}),
            Response("", 429, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1090"}),
            Response("secondary rate limit", 403),
            Response("", 502),
            Response('{"title": "t", "body": null, "created_at": "2020-05-06T07:08:09Z"}', 200),
        ]
    )
    httpserver.expect_request("/repos/o/r/issues/1").respond_with_handler(lambda _: next(replies))
    waits: list[float] = []
    issue = github(waits=waits).issue("o/r", 1)
    assert isinstance(issue, dict) and issue["title"] == "t"
    # Retry-After; until the reset; the doubled minute; the fourth try's seconds; politeness.
    assert waits == [7, 91, 240, 8, 0.2]


@pytest.mark.parametrize("status", [401, 403, 422])
def test_a_refusal_for_good_is_an_error(
    status: int, httpserver: HTTPServer, github: Callable[..., PoliteGitHub]
) -> None:
    httpserver.expect_request("/repos/o/r/issues/1").respond_with_data("no", status)
    with pytest.raises(FetchError, match=f"returned HTTP {status}"):
        github().issue("o/r", 1)


def test_nobody_there_is_an_error() -> None:
    with (
        PoliteGitHub(None, "http://127.0.0.1:9", wait=lambda _: None) as nobody,
        pytest.raises(FetchError, match="Can't reach GitHub"),
    ):
        nobody.issue("o/r", 1)


@pytest.mark.shared
def test_issues_are_fetched_once_and_a_cut_run_goes_on(
    httpserver: HTTPServer, github: Callable[..., PoliteGitHub], tmp_path: Path
) -> None:
    if not SHEETS.exists():
        pytest.skip("needs the data beside the repository: ../shared/study1")
    (tmp_path / "final_categories.xlsx").write_bytes((SHEETS / "final_categories.xlsx").read_bytes())
    asked: list[str] = []

    def issue(request: Request) -> Response:
        asked.append(request.path)
        if len(asked) == 50:
            return Response("", 401)
        if request.path.endswith("7"):
            return Response("", 410)
        body = {"title": "made up", "body": "x", "created_at": "2019-01-02T00:00:00Z", "user": {"login": "n"}}
        return Response(json.dumps(body))

    httpserver.expect_request(re.compile("/repos/.*")).respond_with_handler(issue)
    with pytest.raises(FetchError):
        fetch_issues(tmp_path, github(), lambda done, of: None)
    done = fetch_issues(tmp_path, github(), lambda done, of: None)
    assert len(asked) == len(set(asked)) + 1  # the one that was cut
    assert done.records + done.gone == len(set(asked))
    assert done.gone > 0 and done.elsewhere > 0
    records = labelled_records(tmp_path / "study1.jsonl")
    assert len(records) == done.records
    assert {record.labels.type for record in records} == {"fault", "howto"}
    assert "login" not in (tmp_path / "study1.jsonl").read_text()
