"""Untrusted text between random delimiters, without anything that looks like a delimiter or a role."""

from __future__ import annotations

import secrets

import re2

from knowledge.evidence.lines import clean_text

_WIDE_ANGLES = str.maketrans("＜﹤＞﹥", "<<>>")
_OPEN, _CLOSE = "‹«≪⟨⟪〈〈《❬❮❰", "›»≫⟩⟫〉〉》❭❯❱"
_ANGLES = re2.compile(f"[<{_OPEN}]{{2,}}|[>{_CLOSE}]{{2,}}")
_ASCII_ANGLES = str.maketrans(_OPEN + _CLOSE, "<" * len(_OPEN) + ">" * len(_CLOSE))
# Markers of turns and roles in the chat templates of common models; in data they mean nothing.
_TURNS = re2.compile(
    r"(?i)<[|｜][^|｜<>\n]{0,60}[|｜]>|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]"
    r"|</?(?:s|bos|eos|system|user|assistant|start_of_turn|end_of_turn|think|tool_call|tool_response)>"
)


def new_token() -> str:
    """64 random bits: what the text could not know when it was written."""
    return secrets.token_hex(8)


def defuse(text: str) -> str:
    """The text without turn markers, runs of angle brackets or invisible characters; line breaks stay."""
    text = clean_text(text.encode("utf-8", "replace").decode("utf-8")).translate(_WIDE_ANGLES)
    for _ in range(3):
        # Taking one marker out may put another together.
        text, count = _TURNS.subn("", text)
        if not count:
            break
    else:
        text = text.replace("<", "(").replace(">", ")")
    return str(_ANGLES.sub(lambda match: " ".join(match.group(0).translate(_ASCII_ANGLES)), text))


class Fence:
    """The delimiters of one call."""

    def __init__(self, token: str) -> None:
        self.token = token

    def around(self, name: str, text: str) -> str:
        """A block named `name` (ours) around untrusted text, made free of the token and its look-alikes."""
        inside = defuse(text).replace(self.token, "")
        return f"<<<{name} {self.token}>>>\n{inside}\n<<<END {name} {self.token}>>>"
