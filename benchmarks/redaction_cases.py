"""How texts with secrets are written and filled, for `benchmarks.redaction`: as they stand in sessions of agents.

What is secret is made up when they are read, with a fixed seed, so that no file here looks like it holds a credential:
``<a36>`` is 36 letters and digits; ``b`` base64, ``d`` digits, ``h`` hexadecimal, ``l`` small letters and digits, ``u``
capitals and digits, ``w`` letters, digits, hyphen and underscore, ``p`` a password with signs; ``<uuid>`` a UUID. «…» is
the secret.

`benchmarks.redaction_tuning` was looked at while the rules were written; `benchmarks.redaction_held_out` was written before
it was first measured, and rules are not changed for one of its cases.
"""

from __future__ import annotations

import random
import re
import string
import uuid

_ALNUM = string.ascii_letters + string.digits
_ALPHABETS = {
    "a": _ALNUM,
    "b": _ALNUM + "+/",
    "d": string.digits,
    "h": "0123456789abcdef",
    "l": string.ascii_lowercase + string.digits,
    "u": string.ascii_uppercase + string.digits,
    "w": _ALNUM + "-_",
    "z": string.ascii_lowercase,
}
_BLANK = re.compile(r"<(?:([abdhluwzp])(\d+)|uuid)>")


def filled(template: str, *, seed: int) -> tuple[str, str]:
    """The text of a template, and the secret in it ("" for none)."""
    made = random.Random(f"{seed}:{template}")
    text = _BLANK.sub(lambda match: _made(match, made), template)
    before, mark, rest = text.partition("«")
    secret, _, after = rest.partition("»")
    return before + secret + after, secret if mark else ""


def _made(match: re.Match[str], made: random.Random) -> str:
    if match[1] is None:
        return str(uuid.UUID(int=made.getrandbits(128), version=4))
    size = int(match[2])
    if match[1] != "p":
        return "".join(made.choice(_ALPHABETS[match[1]]) for _ in range(size))
    # A password as people and generators write it: letters first, at least one digit and one sign.
    body = [made.choice(_ALNUM) for _ in range(size - 3)]
    body += [made.choice(string.digits), made.choice("!#%*?+_-.^~"), made.choice(_ALNUM)]
    return made.choice(string.ascii_letters) + "".join(body[1:])
