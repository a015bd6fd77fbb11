"""Versions that a report names without running them: requirements, ranges, the release that worked."""

from __future__ import annotations

import re2

_BEFORE = re2.compile(
    r"(?i)(?:\b(?:requires?|required|requirement|needs?|minimum|at least|supports?|supported|supporting|since|before|prior to"
    r"|until|up to|older than|newer than|below|above|as of|starting (?:from|with|in)|removed in|deprecated in|introduced in|fixed in"
    r"|compatib\w+ with|works? (?:\w+ )?(?:with|on|in|under)|worked (?:\w+ )?(?:with|on|in|under)|fine (?:with|on|in)|ok (?:with|on|in)"
    r"|appear on|appear in|happen on|happen in|happen with|reproduced? (?:it )?(?:with|on|in)|upgraded? from|updated? from|upgrading from"
    r"|downgrad\w+ (?:from|to)|from|previously|previous|old|other than|unlike|instead of|rather than|than|expected \w+ \(?|not|pre|future"
    r"|existing installation:|uninstalling|uninstall:|support for|wheels? for|built for)"
    r"|[<>~!]=?)\W{0,3}(?:\w+ ){0,2}$|(?:n['’]t|not) reproduce .*$"
)
_AFTER = re2.compile(
    r"(?i)^\W{0,3}(?:\w+ ){0,3}?(?:works?\b|worked\b|was fine|is fine|runs fine|seems? (?:to be )?(?:fine|ok)|(?:is|was|are) ok\b"
    r"|(?:or|and) (?:newer|later|above|higher|greater|older|up|below)|does ?n[o']t (?:have|show|appear|happen|occur)"
    r"|support (?:is|was|has)|is (?:required|needed|supported)|compatib|has no problem)"
)
_REVERSED = re2.compile(r"(?i)(?:\bnot|n['’]?t|\bnever|no longer|\bcannot|\bfails? to)\s")
_FAILS_WITH = re2.compile(r"(?i)(?:\bnot|n['’]?t|\bnever|no longer|\bcannot) works? ")
_BOUND = re2.compile(r"[.;!?]\s|[()]")
_UNIT = re2.compile(
    r"(?i)^\s?(?:[kmgt]i?b|ms|s|secs?|seconds|minutes|hours|it/s|samples|tflops|%|x\b|ghz|mhz|devices?|gpus?|nodes?|cores?|times"
    r"|processes|workers|ranks|steps|epochs|machines?|cards?|cpus?|errors?|warnings?|threads?|compatible)"
)
_WORD = re2.compile(r"^\s?[A-Za-z]{2,}")
_CONNECTIVE = re2.compile(
    r"(?i)^\s?(?:and|with|on|but|cudnn|cuda|nccl|python|lts|or|in|under|using|is|for|for the)\b"
)
_RANGE = re2.compile(r"^\s*,?\s*(?:[<>!~]=?|\|\||\.[x*])")


def is_their_version(text: str, match: re2._Match, component: str) -> bool:
    """Whether a match of facts_table.named_version in `text` is a version of the component, and the one they run."""
    name, gap, version, end = match.group("name"), match.group("gap"), match.group("v"), match.end()
    before, follows = text[max(0, match.start(2) - 2) : match.start(2)], text[end : end + 24]
    if before.endswith("/") and not before[:1].isdigit():
        return False  # a path or "TensorFlow/Keras 2.3"
    if component == "gcc" and (before.endswith("[") or "Compiler" in text[: match.start(2)]):
        return False  # what Python was built with
    if component == "cuda" and "driver" in gap.lower():
        return False  # what the driver could run
    if component == "os" and follows[:3].lower() == "lts":
        follows = ""
    if follows[:1].isalnum() or follows[:1] in ("_", "@", "%") or re2.match(r"[.:/]\d", follows):
        return False
    if re2.match(r"-\d", follows) and component not in ("nccl", "cudnn", "os"):
        return False  # a date, or a package's revision
    if re2.match(r",\d+\.", follows) or _UNIT.match(follows):
        return False
    if "." not in version and not _alone(name, gap, version, follows):
        return False
    return not _is_another_s(text, match.start(2), end)


def _alone(name: str, gap: str, version: str, follows: str) -> bool:
    """Whether a number without a dot is a version: "CUDA 11, cuDNN 8", but not "cuda:1" and "CUDA: 8 devices"."""
    if gap.endswith(":") and not gap.endswith("::"):
        return False  # a device
    if int(re2.match(r"\d+", version).group(0)) < 7 and name.lower() != "gcc":
        return False
    return not _WORD.match(follows) or bool(_CONNECTIVE.match(follows))


def _is_another_s(text: str, start: int, end: int) -> bool:
    """Whether what surrounds the version text[start:end] (name included) says that it is not what they run."""
    if _RANGE.match(text[end : end + 8]):
        return True
    before = text[max(0, start - 60) : start]
    cut = [match.end() for match in _BOUND.finditer(before)]
    before = before[cut[-1] :] if cut else before
    found = _BEFORE.search(before)
    # "does not work with 1.7" speaks of the version that fails.
    if found and not _FAILS_WITH.search(before[max(0, found.start() - 14) :]):
        return True
    after = text[end : end + 60]
    stop = _BOUND.search(after)
    after = after[: stop.start()] if stop else after
    found = _AFTER.search(after)
    return bool(found) and not _REVERSED.search(after[: found.end()])
