"""People and places: mail, user names, home folders, shares, telephone numbers, public addresses.

Host names, ports and addresses of private networks stay: a diagnosis needs them. Of a public address its network and
two digits of a hash stay, so that one still sees which are equal.
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Iterator

import re2

from knowledge.redaction.span import Span, place, words

_MAIL = re2.compile(
    r"(?P<s>[\pL\pN][\pL\pN._%+'-]*@[\pL\pN](?:[\pL\pN-]*[\pL\pN])?(?:\.[\pL\pN-]+)*\.[A-Za-z]{2,12})(?P<after>[(\[\w.]?)"
)
_MAIL_SPELLED = re2.compile(
    r"(?i)(?P<s>[a-z0-9][a-z0-9._+-]*\s?[(\[{]\s?at\s?[)\]}]\s?[a-z0-9-]+(?:\s?(?:\.|[(\[{]\s?dot\s?[)\]}])\s?[a-z0-9-]+)+)"
)
_NO_DOMAIN = words("no_domain")
_NO_PERSON = words("no_person")
_NOBODY = _NO_PERSON | words("shared_home")
_PROMPT = re2.compile(
    r"(?m)(?:^|[\s(\[>`])(?P<s>[\pL][\pL\pN._-]*)@[A-Za-z][A-Za-z0-9.-]*(?::|\s)[~/][^\s$#%]*\]?[$#%]"
)
_LOGIN = re2.compile(
    r"\b(?:ssh|scp|sftp|rsync|pdsh)[ \t](?:[^\n|;]*?[ \t'\"])?(?P<s>[\pL][\pL\pN._-]*)@[A-Za-z0-9\[]"
)
_USER = re2.compile(
    r"\b(?:USER|LOGNAME|USERNAME|SUDO_USER|SLURM_JOB_USER)[\"']?[=:]\s?[\"']?(?P<s>[\pL][\pL\pN._-]+)"
)
_HOME = re2.compile(
    r"(?i)(?:/home/|/users/|[a-z]:[\\/]{1,4}users[\\/]{1,4})"
    r"(?P<s>[^\s/\\\"'<>|:,;()\[\]{}`*$]+(?: [^\s/\\\"'<>|:,;()\[\]{}`*$]+[\\/])?)"
)
_PAGE = re2.compile(r"(?i)\.(?:html?|php|js|tsx?|css|py|md|png|json|vue)$")
_SHARE = re2.compile(
    r"(?:^|[\s\"'(=])(?P<s>\\\\(?:\\\\)?[A-Za-z0-9][A-Za-z0-9.-]{2,}\\{1,2}[A-Za-z0-9$_-]{2,})(?:[\\\s\"')]|$)"
)
_PHONE = re2.compile(
    r"(?:^|[^\w+.])(?P<s>\+[1-9][0-9]{0,2}[ .-]?(?:\([0-9]{1,4}\)[ .-]?)?[0-9]{2,4}(?:[ .-][0-9]{2,5}){1,4})\b"
)
_PHONE_CALLED = re2.compile(
    r"(?i)(?:\b(?:phone|mobile|tel|telephone|whatsapp|sms|wechat)\b|电话|手机|微信)[.:：]?\s*"
    r"(?P<s>[+(]{0,2}[0-9][0-9 ().+-]{7,20}[0-9])"
)
_IPV4 = re2.compile(
    r"(?:^|[^\w.])(?P<s>[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3})(?P<after>:[0-9]{2,5}|<[0-9]+>|/[0-9]{1,2}\b)?(?:\.?[^\w.+-]|\.?$)"
)
_IPV6 = re2.compile(
    r"(?i)(?:^|[^0-9a-z:.])(?P<s>[23][0-9a-f]{3}(?:::?[0-9a-f]{1,4}){2,7}(?:::)?)(?:[^0-9a-z:.]|\.?$)"
)
_BEFORE_ADDRESS = re2.compile(
    r"(?i)(?:addr|address|host|ip|inet|peer|from|to|connect|server|client|node|master|@|//|tcp|endpoint|listen|bind|ping|ssh|via|src|dst|gateway|dns)[\s:=\[(\"'<]*$"
)


def find_people(text: str) -> Iterator[Span]:
    """Yield names, homes, numbers and public addresses."""
    lowered = text.lower()
    if "@" in text:
        yield from _mail(text)
        yield from _users(_PROMPT, text)
        yield from _users(_LOGIN, text)
    if "at)" in lowered or "at]" in lowered:
        yield from _plain(_MAIL_SPELLED, text, "email")
    yield from _users(_USER, text)
    if "/home/" in lowered or "users" in lowered:
        yield from _homes(text)
    if "\\\\" in text:
        yield from _plain(_SHARE, text, "share")
    for pattern in (_PHONE, _PHONE_CALLED):
        yield from (s for s in _plain(pattern, text, "phone") if 9 <= _digits(text[s.start : s.end]) <= 15)
    yield from _addresses(text)


def _plain(pattern: re2._Regexp, text: str, kind: str) -> Iterator[Span]:
    return (Span(*place(found, "s"), kind) for found in pattern.finditer(text))


def _users(pattern: re2._Regexp, text: str) -> Iterator[Span]:
    for span in _plain(pattern, text, "user"):
        if text[span.start : span.end].lower() not in _NOBODY:
            yield span


def _digits(text: str) -> int:
    return sum(char.isdigit() for char in text)


def _mail(text: str) -> Iterator[Span]:
    for found in _MAIL.finditer(text):
        person, domain = found.group("s").split("@")
        ending = domain.rpartition(".")[2].lower()
        if person.lower() in _NO_PERSON or ending in _NO_DOMAIN or found.group("after") not in ("", "."):
            continue
        yield Span(*place(found, "s"), "email")


def _homes(text: str) -> Iterator[Span]:
    for found in _HOME.finditer(text):
        start, end = place(found, "s")
        name = text[start:end]
        name = name.rstrip("\\/").rstrip(".")
        if name.lower() in _NOBODY or _PAGE.search(name) or name.startswith("[") or not name.strip("."):
            continue
        before = text[max(0, found.start() - 120) : found.start()].split()
        if (
            before
            and not text[found.start() - 1].isspace()
            and "://" in before[-1]
            and "file:" not in before[-1]
        ):
            continue
        yield Span(start, start + len(name), "home")


def _addresses(text: str) -> Iterator[Span]:
    for pattern in (_IPV4, _IPV6):
        for found in pattern.finditer(text):
            start, end = place(found, "s")
            written = text[start:end]
            try:
                address = ipaddress.ip_address(written)
            except ValueError:
                continue
            if not address.is_global or address.is_multicast:
                continue
            if pattern is _IPV4 and not _is_address(
                text, start, int(written.split(".")[0]), found.group("after")
            ):
                continue
            sign = "." if pattern is _IPV4 else ":"
            network = sign.join(written.split(sign)[:2])
            mark = hashlib.sha256(address.packed).hexdigest()[:2]
            yield Span(start, end, "address", f"{network}{sign}[redacted:address-{mark}]")


def _is_address(text: str, start: int, first: int, after: str | None) -> bool:
    """Whether four numbers are an address: versions have four too, and begin small."""
    before = text[max(0, start - 24) : start]
    if before.endswith("/") and not before.endswith("//"):
        return False
    if before.endswith(("==", "-", "_", "version ", "Version ", "v")):
        return False
    return bool(after) or first >= 40 or _BEFORE_ADDRESS.search(before) is not None
