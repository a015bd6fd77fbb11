"""Tokens known by their prefix: prefix, length of the rest, its alphabet.

Prefixes, lengths and alphabets are facts from the issuers' documentation and from public rule sets for scanners.
"""

from __future__ import annotations

from tests.knowledge.redaction.parts import BASE64, HEX, LOWER, UPPER, URL_SAFE, WORD, Secret, made

Row = tuple[str, str, int, str]

SEEN: tuple[Row, ...] = (
    ("github classic", "ghp" + "_", 36, WORD),
    ("github oauth", "gho" + "_", 36, WORD),
    ("github fine-grained", "github" + "_pat_", 82, WORD + "_"),
    ("gitlab personal", "glpat" + "-", 20, URL_SAFE),
    ("gitlab runner", "glrt" + "-", 20, URL_SAFE),
    ("slack bot", "xox" + "b-", 40, LOWER + "-"),
    ("aws access key", "AK" + "IA", 16, UPPER),
    ("google api key", "AI" + "za", 35, URL_SAFE),
    ("google oauth", "ya" + "29.", 60, URL_SAFE),
    ("openai project", "sk" + "-proj-", 74, URL_SAFE),
    ("anthropic", "sk" + "-ant-api03-", 93, URL_SAFE),
    ("hugging face", "hf" + "_", 34, WORD),
    ("wandb v1", "wandb" + "_v1_", 60, WORD),
    ("nvidia ngc", "nvapi" + "-", 64, URL_SAFE),
    ("databricks", "da" + "pi", 32, HEX),
    ("groq", "gs" + "k_", 52, WORD),
    ("sendgrid", "SG" + "." + made("sg", 22) + ".", 43, URL_SAFE),
    ("npm", "np" + "m_", 36, WORD),
    ("docker hub", "dckr" + "_pat_", 27, URL_SAFE),
    ("stripe restricted", "rk" + "_live_", 24, WORD),
    ("shopify", "shp" + "at_", 32, HEX),
    ("digitalocean", "dop" + "_v1_", 64, HEX),
    ("bitbucket app password", "AT" + "BB", 32, WORD),
    ("azure client secret", made("az", 3) + "8" + "Q~", 34, WORD + "_~.-"),
)

HELD_OUT: tuple[Row, ...] = (
    ("github app", "ghs" + "_", 36, WORD),
    ("gitlab ci job", "glcbt" + "-", 24, URL_SAFE),
    ("gitlab trigger", "glptt" + "-", 40, HEX),
    ("slack user", "xox" + "p-", 50, LOWER + "-"),
    ("aws temporary key", "AS" + "IA", 16, UPPER),
    ("openai service account", "sk" + "-svcacct-", 74, URL_SAFE),
    ("openai legacy", "sk" + "-", 48, WORD),
    ("hugging face organisation", "api" + "_org_", 34, WORD),
    ("replicate", "r8" + "_", 37, WORD),
    ("vault service", "hv" + "s.", 95, URL_SAFE),
    ("tailscale", "tskey" + "-auth-", 40, WORD + "-"),
    ("pypi", "pypi" + "-", 80, URL_SAFE),
    ("linear", "lin" + "_api_", 40, WORD),
    ("square", "sq0" + "atp-", 22, URL_SAFE),
    ("discord bot", "M" + made("d1", 23) + "." + made("d2", 6) + ".", 38, URL_SAFE),
    ("atlassian", "ATATT" + "3xFfGF0", 60, URL_SAFE),
    ("perplexity", "pplx" + "-", 48, WORD),
    ("grafana service account", "gl" + "sa_", 41, WORD),
    ("pulumi", "pul" + "-", 40, HEX),
    ("prefect", "pn" + "u_", 36, WORD),
    ("rubygems", "rubygems" + "_", 48, HEX),
    ("alibaba", "LT" + "AI", 20, WORD),
    ("postman", "PM" + "AK-", 59, HEX),
    ("azure storage key", "", 86, BASE64),
)

SPELLINGS = (
    "huggingface_hub.login({})",
    "export TOKEN={}",
    "Error: bad credentials '{}' for the hub",
    '{{"msg": "{{\\"value\\": \\"{}\\"}}"}}',
    "key_{}.",
    "| {} |",
    "**{}**",
    "tried `{}`, then gave up",
    "https://host.example/x/{}/y?z=1",
    "[rank0]: Client(args=['{}'])",
)


def cases(rows: tuple[Row, ...]) -> list[Secret]:
    """Each token in three of the spellings, in turn."""
    found: list[Secret] = []
    for number, (kind, prefix, length, alphabet) in enumerate(rows):
        for turn in range(3):
            token = prefix + made(f"{kind}{turn}", length, alphabet)
            if kind == "azure storage key":
                token += "=="
            spelling = SPELLINGS[(number + 3 * turn) % len(SPELLINGS)]
            found.append(Secret(kind, spelling.format(token), (token, token[-12:])))
    return found
