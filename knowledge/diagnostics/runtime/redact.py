"""Keep names of people, machines and folders, and secrets, out of whatever the script prints."""

from __future__ import annotations

import os
import re
import socket

SECRET = re.compile(
    r"(?:gh[pousr]_\w{8,}|github_pat_\w{8,}|gl[a-z]{2,6}-[\w-]{16,}|xox[a-z]-[\w-]{8,}|nvapi-[\w-]{8,}|wandb_v1_\w{8,}"
    r"|dckr_[a-z]{1,4}_[\w-]{8,}|dop_v1_\w{8,}|A[KS]IA\w{12,}|AIza[\w-]{20,}|eyJ[\w.+/=-]{20,}|AAAA[\w+/]{40,}=*)"
    r"|\b(?:hf_\w{8,}|sk-[\w-]{8,}|[rs]k_(?:live|test)_\w{8,}|npm_\w{30,}|pypi-[\w-]{20,}|dapi[0-9a-f]{32}|gsk_\w{20,}"
    r"|r8_\w{20,}|hvs\.[\w-]{20,}|SG\.[\w.-]{30,}|tskey-[\w-]{8,}|ya29\.[\w-]{20,}|ATBB\w{20,}|\w{3}\dQ~[\w.~-]{28,})"
)
NAMED_SECRET = re.compile(
    r"(?i)(\b[\w-]*(?:token(?!iz)|secret|passw(?:or)?d|passphrase|_pass|pwd|credential|authorization|cookie"
    r"|(?:api|access|private|account|auth)[_-]?key)[\w-]*[\\\"']*)(\s*[=:]\s*)"
    r"(?:<secret>|\\*\"[^\"\n]+\"|\\*'[^'\n]+'|(?:(?:bearer|basic|token)\s+)?[^\s,;]+)"
)
FLAG_SECRET = re.compile(r"(?i)(--?(?:[\w-]*(?:token|secret|password|passwd|api[_-]?key)) +)(?!-)[^\s,;]+")
PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[\s\S]{0,20000}?(?:-----END [A-Z0-9 ]{0,40}-----|\Z)"
)
WINDOWS = re.compile(r"(?:\b[A-Za-z]:|(?<!\S)\\)\\[^\n\"'<>|:*?]{1,300}(?=\\)\\+[^\s\"'<>|:*?\\]*")
URL = re.compile(r"(?i)\b[a-z][a-z0-9+.-]{1,15}://[^\s'\"<>]{1,500}")
EMAIL = re.compile(r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}\b")
IPV4 = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")
IPV6 = re.compile(r"(?i)\b(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{0,4}\b|\b[0-9a-f]{1,4}::[0-9a-f:]*\b")
FOLDER = re.compile(r"(?<![\w<.])~?(?:/[\w.+@%-]+)+/?")
KEPT_FILE = re.compile(r"^(lib[\w.+-]*\.so[\w.]*|python[\d.]*|mpirun|mpiexec|nvcc|gcc|g\+\+|c\+\+)$")
VERSION_LIKE = re.compile(r"^\d{1,2}(\.\d{1,4}){3}$")


def address_kind(text: str) -> str:
    """What kind of IPv4 address it is: the kind helps a diagnosis, the address does not."""
    parts = [int(part) for part in text.split(".")]
    if max(parts) > 255:
        return "number"
    if parts[0] == 127:
        return "loopback"
    if parts[0] == 169 and parts[1] == 254:
        return "link-local"
    private = (
        parts[0] == 10 or (parts[0] == 172 and 16 <= parts[1] <= 31) or (parts[0] == 192 and parts[1] == 168)
    )
    return "private" if private else "public"


def own_names() -> list[str]:
    """Names of this user and this machine, longest first."""
    found = {
        os.environ.get(name, "")
        for name in ("USER", "LOGNAME", "USERNAME", "HOSTNAME", "SLURM_JOB_USER", "SUDO_USER")
    }
    found.add(os.path.basename(os.path.expanduser("~")))
    host = socket.gethostname()
    found.update((host, host.split(".")[0]))
    plain = {"", "root", "localhost", "user", "home", "python", "torch", "linux", "local", "none", "~"}
    return sorted(
        (name for name in found if len(name) > 2 and name.lower() not in plain), key=len, reverse=True
    )


def redact_text(text: str, names: list[str]) -> str:
    """The text without secrets, addresses, folders and the given names; doing it twice changes nothing."""
    text = URL.sub("<url>", PRIVATE_KEY.sub("<secret>", text))
    text = SECRET.sub("<secret>", text)
    text = NAMED_SECRET.sub(r"\1\2<secret>", text)
    text = FLAG_SECRET.sub(r"\1<secret>", text)
    text = EMAIL.sub("<mail>", text)
    text = WINDOWS.sub("<path>", text)
    text = FOLDER.sub(lambda found: "<path>" + _kept(found.group()), text)
    text = IPV4.sub(lambda found: f"<{address_kind(found.group())}-ip>", text)
    text = IPV6.sub("<ip6>", text)
    for name in names:
        text = re.sub(r"(?i)(?<![\w<])" + re.escape(name) + r"(?![\w>])", "<name>", text)
    return text


def _kept(folder: str) -> str:
    last = folder.rstrip("/").rsplit("/", 1)[-1]
    return ":" + last if KEPT_FILE.match(last) else ""


def redact_facts(facts: dict[str, object], names: list[str]) -> dict[str, object]:
    """Facts as they may be printed: short, flat, redacted; versions of four numbers stay readable."""
    clean: dict[str, object] = {}
    for key, value in sorted(facts.items())[:24]:
        if isinstance(value, (bool, int)) or value is None:
            clean[key] = value
        elif isinstance(value, float):
            clean[key] = round(value, 4)
        elif isinstance(value, (list, tuple)):
            clean[key] = [_short(str(item), names) for item in list(value)[:16]]
        else:
            clean[key] = _short(str(value), names)
    return clean


def _short(text: str, names: list[str]) -> str:
    printable = "".join(char if char.isprintable() else " " for char in text)
    if VERSION_LIKE.match(printable) and not printable.startswith(("10.", "127.", "172.", "192.")):
        return printable
    return redact_text(printable, names)[:120]
