"""Secrets of a user with a password, of a file that is printed, and of an encoding that hides nothing, as a table."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error

from autocompact.core.redaction.building import VALUE, dense, form, given, program, stated
from autocompact.core.redaction.rules import Form
from autocompact.core.redaction.values import (
    has_symbol,
    is_chosen,
    is_placeholder,
    is_reference,
    mixed,
    random_looking,
    stripped,
)
from autocompact.core.redaction.words import is_passphrase

_PAIR = re.compile(r"[\w.@+-]{2,60}:[^\s:]\S{3,80}$")


def is_basic(value: str) -> bool:
    """True for base64 of ``user:password``."""
    value = stripped(value)
    try:
        said = b64decode(value[: len(value) // 4 * 4], validate=True).decode()
    except (Error, ValueError):
        return False
    return bool(_PAIR.match(said)) and said.isprintable()


def _is_made_up(value: str) -> bool:
    return mixed(value) and (random_looking(value) or has_symbol(value)) and not is_reference(value)


def _printed(value: str) -> bool:
    value = stripped(value)
    return len(value) >= 8 and _is_made_up(value) and not is_placeholder(value)


def _of_user(value: str) -> bool:
    return stated(value) and _is_made_up(value)


_DECODED = tuple(
    form(
        "credentials",
        anchor,
        pattern=re.escape(anchor),
        line=r"[\"'` =](?P<s>[A-Za-z0-9+/]{12,400}={0,2})[\"'`]?[ ]{0,4}(?:\|[ ]{0,4})?$",
        examples=(f"echo '«YWRtaW46T2ZlbnJvaHJfUGZhdV82Ng==»' | {anchor}",),
        others=(f"echo 'aGVsbG8gd29ybGQgb2YgdGhl' | {anchor}", f"cat x | {anchor}"),
        accept=is_basic,
    )
    for anchor in ("base64 -d", "base64 --decode", "openssl base64 -d")
)
_DECODING = tuple(
    form(
        "credentials",
        anchor,
        pattern=rf"{re.escape(anchor)}b?[\"'`](?P<s>[A-Za-z0-9+/]{{12,400}}={{0,2}})[\"'`]",
        examples=(f"{anchor}'«YWRtaW46T2ZlbnJvaHJfUGZhdV82Ng==»')",),
        others=(f"{anchor}'aGVsbG8gd29ybGQgb2YgdGhl')",),
        accept=is_basic,
    )
    for anchor in ("atob(", "b64decode(", "base64_decode(")
)

_CALLS = tuple(
    form(
        "password",
        anchor,
        pattern=rf"{re.escape(anchor)}(?:\[\]byte\(|str\.encode\()?b?[\"'`][\w.@+-]{{1,60}}:(?P<s>[^\s\"'`:]{{5,100}})[\"'`]",
        examples=(f'{anchor}"bob:«<a10>!")'.replace('!")', '!»")'),),
        others=(f'{anchor}"user:password")', f'{anchor}"data:text")', f'{anchor}f"{{user}}:{{password}}")'),
        accept=stated,
    )
    for anchor in ("btoa(", "b64encode(", "base64_encode(", "encodetostring(", "encode64(")
)
_PIPED = (
    form(
        "password",
        "| base64",
        pattern=r"\| base64(?! -(?:d|-dec))",
        line=r"(?:echo|printf)[ ](?:-n |-ne |-e |'%s' )?[\"']?[\w.@+-]{1,60}:(?P<s>[^\s\"'`:]{4,100})[\"']?[ ]{0,2}$",
        examples=("echo -n 'bob:«<a10>!' | base64".replace("' |", "»' |"),),
        others=('echo -n "$USER:$PASS" | base64', "echo a:b | base64"),
        accept=given,
    ),
)

_A_LINE = r"(?=[^\n|<>]{1,300}\n)"
"""What prints a file is a line of its own; in prose ("more ", "head ") the rest is looked at no further."""

_PRINTED = tuple(
    form(
        "secret value",
        anchor,
        pattern=rf"{anchor}{_A_LINE}(?![^\n]*(?:public|\.pub|hash|sum))(?:-[\w-]+ )*[^\n|<>]{{0,120}}?(?:secret|token|passw|pwd|credential|api_?key|private|master\.key|[\w-]\.key|_key|authkey|\.pass|unseal|vault|auth\.(?:txt|conf|cfg)|auth-user|userpass)[^\n|<>]{{0,60}}\n(?:(?![$#%>❯])[^\n]{{0,80}}\n)?(?P<s>(?![$#%>❯])[^\s\"'`<>(){{}},;]{{8,300}})[ \t]*(?=\r?\n|$)",
        line=r"(?:^|[$#%>❯&;(][ ]{0,3}|[ ]|sudo )$",
        examples=(
            f"$ {anchor}config/master.key\n«<h32>»\n$ ls",
            f"# {anchor}/run/secrets/db_password\n«<l6>-<a8>!x»",
        ),
        others=(
            f"$ {anchor}secrets.py\nimport os2\nx",
            f"$ {anchor}docs/tokens.md\n# tokens\nA token of version-2",
            f"$ {anchor}public.key\n9f86d081884c7d659a2feaa0c55ad015",
        ),
        accept=_printed,
    )
    for anchor in ("cat ", "head ", "tail ", "less ", "more ", "bat ")
)

_PAIRS = (
    program("openssl", " -k ", option="[ ]-k[ ]", examples=("openssl enc -aes-256-cbc -k «<a12>» -in f",)),
    form(
        "password",
        "pass",
        pattern=r"(?:pass(?:word|phrase|wd|code)?|pin)[\"':]{0,3}[^\n]{0,20}\n[ \t]*(?:\w+\.)?(?:send|sendline|exp_send)(?:[ ](?:--[ ])?|\()[\"'{](?P<s>[^\s\"'{}]{4,100}?)(?:\\[rn]){0,2}[\"'}]",
        examples=(
            'expect "password:"\nsend "«<a10>!\\r"'.replace("\\r", "»\\r"),
            "child.expect('assword:')\nchild.sendline('«<a10>!x»')".replace("assword", "Password"),
        ),
        others=('expect "password:"\nsend "$pass\\r"',),
        accept=given,
    ),
    *(
        form(
            "authenticator seed",
            anchor,
            pattern=rf"{anchor}[\w.]{{0,30}}\([\"'](?P<s>(?-i:[A-Z2-7]{{16,64}}))[\"']",
            examples=(f'py{anchor}.{anchor}("«X5N2LXGQEOFARI5R»")',),
            others=(f'{anchor}("NAMEOFTHEUSERISHERE")',),
            accept=mixed,
        )
        for anchor in ("totp", "hotp", "otp")
    ),
)

_DEVICES = (
    *(
        form(
            "password",
            anchor,
            pattern=rf"{anchor}(?: (?!password|in|to|exchange)\S{{1,40}}){{0,3}}? {VALUE}(?=[ \t]*(?:\r?\n|$|address))",
            line=r"(?i:(?:tacacs|radius|isakmp|ipsec|tacacs-server|radius-server|aaa|ike|ospf|bgp|eigrp|ntp|wpa|snmp)[\w -]{0,60})$",
            examples=(
                f"tacacs-server {anchor} 7 «<a14>»",
                f"crypto isakmp {anchor} «<a12>» address 10.0.0.1",
            ),
            others=(f"radius-server {anchor} exchange v2", f"the radius {anchor} is required"),
            accept=lambda value: stated(value) and mixed(value),
        )
        for anchor in ("key", "shared-secret", "pre-shared-key")
    ),
    *(
        form(
            "password",
            anchor,
            pattern=rf"{anchor}{rest}{VALUE}(?=[ \t]*(?:\r?\n|$|aes |des ))",
            line=before,
            examples=(f"{said}«<a10>»",),
            others=(f"{said}required", f"{said}$KEY"),
            accept=lambda value: given(value) and mixed(value),
        )
        for anchor, rest, before, said in (
            (" sha ", "", r"createUser [^\n]{1,60}$", "createUser mon SHA "),
            (" aes ", "", r"createUser [^\n]{1,100}$", 'createUser mon SHA "x" AES '),
            (
                "password ",
                r"[057] ",
                r"(?m:^)[ \t]*(?:neighbor \S{1,40} |ppp chap |username \S{1,40} )?$",
                " password 7 ",
            ),
            ("key-string ", r"(?:[07] )?", r"(?m:^)[ \t]*$", "  key-string 7 "),
            (
                "authentication ",
                r"(?:text |md5 )?(?:key-string )?(?:[07] )?",
                r"(?:standby|vrrp|glbp) \d{1,4} $",
                "standby 1 authentication ",
            ),
            ("wpa-psk ", r"(?:ascii|hex) [07] ", "", "wpa-psk ascii 0 "),
        )
    ),
    form(
        "password",
        ":*:",
        pattern=r":\*:(?:\*:)?[\w*.@-]{1,60}:(?P<s>[^\s\"'`:]{3,200})(?=[ \t]*(?:\r?\n|$))",
        line=r"(?m:^)[ \t]*(?:[\w.-]{1,80}|\*)(?::(?:\d{2,5}|\*))?$",
        examples=("*:*:*:svc:«moonlight9»", "db.acme.dev:5432:*:svc:«<a12>»"),
        others=("*:*:*:svc:$PASS", "arn:aws:iam::*:role:x2"),
        accept=given,
    ),
    form(
        "password",
        "@",
        pattern=r"@[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}[:;\t](?P<s>[^\s\"'`:/|]{6,80})(?=[ \t]*(?:\r?\n|$))",
        line=r"(?m:^)[ \t]*(?:[\w.*-]{1,80}:)?[\w.+-]{1,60}$",
        examples=("bob@acme.dev:«Moon.Light27»", "smtp.acme.dev:bob@acme.dev:«<a12>»"),
        others=("git@github.com:repo.git", "bob@host.acme.dev:file-2024.txt", "bob@acme.dev:22222222"),
        accept=lambda value: is_chosen(value, beside=True) or ("." not in value and _of_user(value)),
    ),
    form(
        "password",
        "@",
        pattern=r"@[\w.-]{2,60}(?:[ ]/[ ]|[ ]\()[\"'`]?(?P<s>[^\s\"'`()<>/=]{7,64})(?=[\"'`)]{0,2}(?:[.,;]?(?:\s|$)))",
        line=r"(?:^|[\s(\"'`:])[a-z][\w.-]{1,40}$",
        examples=("ssh bob@10.0.0.4 («Moon.Light27»)", "root@db3 / «kT9#xvL2q»"),
        others=(
            "bob@acme.dev (team-2 lead)",
            "user@host (Ubuntu22.04)",
            "blerg@1.x (latest=1.3.7)",
            "bob@db3 / read-only",
        ),
        accept=lambda value: is_chosen(value, beside=True) or (_is_made_up(value) and given(value)),
    ),
    *(
        form(
            "password",
            anchor,
            pattern=rf"{anchor}(?: as| user| to)? \S{{1,60}} (?:with|using)(?: password)? [\"'`]?(?P<s>[^\s\"'`()<>]{{7,64}})(?=[\"'`.,;]{{0,2}}(?:\s|$))",
            examples=(f"DEBUG {anchor} as cn=admin with «Moon.Light27»", f"{anchor} bob using «kT9#xvL2q»"),
            others=(f"{anchor} as bob with a password", f"{anchor} bob using kerberos5"),
            accept=lambda value: is_chosen(value, beside=True) or (_is_made_up(value) and given(value)),
        )
        for anchor in ("authenticating", "binding", "authenticate", "logging in")
    ),
    form(
        "password",
        "community",
        pattern=rf"community(?:[ ]?[:=][ ]?|[ ])(?:(?:string|read|write) )?{VALUE}",
        line=r"(?i:snmp[\w -]{0,20})$",
        examples=("snmp community: «<l6>x9»", "snmpwalk -v2c: snmp community «<a12>»"),
        others=("snmp community public", "snmp community: private"),
        accept=lambda value: stated(value) and mixed(value),
    ),
)

_STATED = (
    *(
        form(
            "passphrase",
            anchor,
            pattern=rf"{anchor}(?:[\"'*]{{0,3}}(?: \w{{1,20}}){{0,4}}?(?: is| ist| lautet| est| es|[ ]?[:=：]))[ \t]{{1,3}}(?P<q>[\"'`“]?)(?P<s>[a-z]{{3,10}}(?:[ -][a-z]{{3,10}}){{3,10}})(?=[\"'`”]|[.,]?[ \t]*(?:\r?\n|\\n|$))",
            examples=(
                f'{said}: "«correct horse battery staple»"',
                f"{said}: «velvet thunder picnic marble»",
                f"the {said} of the backup is «velvet-thunder-picnic-marble».",
            ),
            others=(
                f"{said}: must contain eight characters",
                f"{said} is the one from the vault",
                f'{said}: "enter the new password again"',
                f"{said} is required for this login form",
            ),
            accept=is_passphrase,
        )
        for anchor, said in (("phrase", "passphrase"), ("password", "password"), ("passwort", "Passwort"))
    ),
    form(
        "password",
        " one is ",
        pattern=rf" one is {VALUE}",
        line=r"(?i:(?<!\w)(?:new|old|current|right|working|temporary|other))$",
        examples=("I rotated it, the new one is «<a10>!x»",),
        others=("the new one is version-2", "the right one is README.md", "the old one is `run_tests_v2`"),
        accept=lambda value: _of_user(value.rstrip(".,;!?")) and value[-1:] not in ".,;",
    ),
    form(
        "secret value",
        "random_password",
        pattern=r"random_password[\s\S]{0,600}?\"(?:result|bcrypt_hash)\"\s*:\s*\"(?P<s>[^\"\n]{4,200})\"",
        examples=(
            '"type": "random_password", "instances": [{"attributes": {"length": 16, "result": "«<a16>»"}}]',
        ),
        others=('resource "random_password" "db" {\n  length = 16\n}',),
        accept=given,
    ),
    form(
        "password",
        "chpasswd",
        pattern=r"chpasswd[^\n]{0,40}\n(?:[ \t]+(?:expire|list|users)[^\n]*\n){0,2}[ \t]*(?:- )?[\"']?[\w.-]{1,40}:(?P<s>[^\s\"':]{4,100})",
        examples=(
            "chpasswd:\n  expire: false\n  list: |\n    root:«<a12>»",
            "sudo chpasswd <<EOF\nroot:«<a12>»",
        ),
        others=("chpasswd:\n  list: |\n    root:RANDOM", "chpasswd <<EOF\nroot:$PASS"),
        accept=lambda value: given(value) and value not in {"RANDOM", "R"},
    ),
    form(
        "unseal key",
        "unseal ",
        pattern=r"unseal (?P<s>[A-Za-z0-9+/]{40,90}={0,2})(?![\w+/=])",
        examples=("vault operator unseal «<b43>=»",),
        others=("vault operator unseal", "unseal the_vault_of_production_with_all_of_the_keys"),
        accept=_is_made_up,
    ),
    form(
        "private key",
        '"kty"',
        pattern=r"\"kty\"",
        line=r"\"(?:d|k)\"\s*:\s*\"(?P<s>[\w-]{16,})\"[^{}]*$",
        examples=('{"k": "«<w43>»", "kty": "oct"}',),
        others=('{"e": "AQAB", "kty": "RSA"}',),
    ),
    form(
        "credentials",
        "authorization",
        pattern=r"authorization\\{0,3}[\"']?[ ]?[:=,][ ]?[bfBF]?\\{0,3}[\"']?[A-Za-z][\w-]{1,30}[ ](?:[\w.@-]{1,60}[:=])?[\"']?(?P<s>[A-Za-z0-9+/._~-]{20,}={0,2})",
        examples=("Authorization: hmac bob:«<b43>=»", "Authorization: Acme-Token «<a32>»"),
        others=("Authorization: the user must be logged_in_with_2_factors",),
        accept=lambda value: dense(value) and random_looking(value),
    ),
)

OUTPUTS: tuple[Form, ...] = (*_DECODED, *_DECODING, *_CALLS, *_PIPED, *_PRINTED, *_PAIRS, *_DEVICES, *_STATED)
