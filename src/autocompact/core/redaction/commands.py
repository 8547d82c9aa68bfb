"""Secrets that a program is given as an argument without a name of its own, or prints, as a table."""

from __future__ import annotations

from autocompact.core.redaction.building import VALUE, dense, form, given
from autocompact.core.redaction.rules import Form

COMMANDS: tuple[Form, ...] = (
    form(
        "password",
        "openssl passwd",
        pattern=rf"openssl passwd(?: -(?:salt \S+|\w+))*[ ]{VALUE}",
        examples=("openssl passwd -6 «<l6>!<l4>»", "openssl passwd -salt ab -1 '«Sommerregen»'"),
        others=("openssl passwd -6 -stdin", 'openssl passwd -6 "$PW"', "openssl passwd -6"),
        accept=given,
    ),
    form(
        "password",
        " password ",
        pattern=rf" password {VALUE}",
        line=r"(?i:nmcli[ ][^|;&\n]*|netsh[ ]wlan[ ][^|;&\n]*|iwctl[ ][^|;&\n]*)$",
        examples=("nmcli device wifi connect Office password «sommerregen»",),
        others=("nmcli asks for the password when it is missing", 'nmcli dev wifi connect a password "$PW"'),
        accept=lambda value: given(value) and len(value) >= 8,
    ),
    form(
        "token",
        " service install ",
        pattern=r" service install (?P<s>[\w+/=-]{40,600})",
        line=r"cloudflared$",
        examples=("cloudflared service install «ey<a120>»",),
        others=("cloudflared service install --help",),
        accept=dense,
    ),
    form(
        "token",
        "auth:token",
        pattern=r"auth:token[^\n]{0,40}\n(?:[^\n]{0,120}warning[^\n]{0,200}\n)?(?P<s>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})[ \t]*(?:\r?\n|$)",
        examples=("$ heroku auth:token\n › Warning: it expires\n«<h8>-<h4>-<h4>-<h4>-<h12>»",),
        others=("heroku auth:token prints it",),
    ),
    form(
        "authenticator seed",
        "oathtool",
        pattern=r"oathtool[^\n|;&]{0,60}?[ ]\"?(?P<s>[A-Z2-7]{16,64}=*|[0-9a-f]{20,64})\"?[ \t]*(?:[|\n;&)]|$)",
        examples=("oathtool --totp -b «KZXW6YTBOI2DQMZTGEZDGNBV»",),
        others=("oathtool --totp -b $SEED", "oathtool is installed"),
    ),
    form(
        "licence key",
        "/ipk ",
        pattern=r"/ipk (?P<s>[A-Z0-9]{5}(?:-[A-Z0-9]{5}){4})(?![\w-])",
        examples=("cscript slmgr.vbs /ipk «AB1CD-<u5>-<u5>-<u5>-<u5>»",),
        others=("slmgr /ipk KEY",),
    ),
)
