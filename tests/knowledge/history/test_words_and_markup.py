"""Words and markup as trackers really write them."""

from __future__ import annotations

import time

from knowledge.history.record import to_markdown
from knowledge.history.words import MOST_WORDS, counted, words


def test_an_identifier_is_found_whole_and_in_parts() -> None:
    found = words("org.apache.hadoop.fs.s3a.S3AFileSystem threw NullPointerException")
    parts = {"org.apache.hadoop.fs.s3a.s3afilesystem", "s3a", "s3afilesystem", "file", "system", "hadoop"}
    assert parts | {"nullpointerexception", "null", "pointer", "exception"} <= set(found)


def test_versions_and_numbered_names_stay_apart() -> None:
    first, second = words("Upgrade jetty to 9.4.43, CVE-2022-42889"), words("Upgrade jetty to 9.4.44")
    assert "9.4.43" in first and "cve-2022-42889" in first
    assert "9.4.43" not in second and "9.4.44" in second


def test_endings_do_not_part_two_reports() -> None:
    assert words("dependencies failing in tests") == words("dependency fails in test")
    assert words("process status") == ["process", "status"]


def test_hashes_and_addresses_say_nothing() -> None:
    assert words("at 0x7f3a1c2b9d40 commit 9fceb02d0ae598e95dc970b74767f19372d61af8") == ["commit"]


def test_scripts_without_spaces_share_pairs_of_characters() -> None:
    first, second = set(words("训练卡住了")), set(words("多机训练卡住"))
    assert {"训练", "卡住"} <= first & second


def test_a_long_log_costs_and_keeps_little() -> None:
    log = "\n".join(f"2024-01-01 step {n} loss 0.{n} worker_{n} said value{n}" for n in range(200_000))
    before = time.process_time()
    kept = counted(log)
    assert len(kept) == MOST_WORDS
    assert time.process_time() - before < 2


def test_jira_markup_becomes_markdown() -> None:
    body = "h3. Steps\nRun {{hdfs dfs -ls}} [docs|https://x.org/a]\n{code:java}\nfoo();\n{code}\nbq. said\n[~steve]"
    text = to_markdown(body)
    assert "### Steps" in text and "`hdfs dfs -ls`" in text and "[docs](https://x.org/a)" in text
    assert text.count("```") == 2 and "> said" in text and "~steve" not in text


def test_markdown_stays_as_it_is() -> None:
    body = "Training with `{'a': 1}` fails\n```\nx = {k: v}\n```\n[link](https://x.org)"
    assert to_markdown(body) == body
