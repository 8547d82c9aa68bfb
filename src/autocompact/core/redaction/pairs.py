"""A user and a password, or a key alone, that programs and libraries take as one argument, as a table."""

from __future__ import annotations

import re

from autocompact.core.redaction.building import form, given, made_up, stated
from autocompact.core.redaction.rules import Form
from autocompact.core.redaction.values import (
    has_symbol,
    is_chosen,
    is_placeholder,
    is_strong,
    mixed,
    random_looking,
    stripped,
)
from autocompact.core.redaction.words import is_word_and_number

_HEX = re.compile(r"[0-9a-f]{32,64}$", re.IGNORECASE)
_TAG = re.compile(r"v?\d|(?:latest|stable|main|master|edge|alpine|slim|rc)\b")
_KEY = r"(?P<s>[\w.~+/=-]{20,400})"
_CURL = r"curl(?:\.exe)? [^\n]{0,400}?(?<=[ \t])"
_SWITCHES = r"[sSvkfLgijlINOpqRaBMZ#0-6]{0,8}"
"""Letters of options of curl that take no argument, and so may stand before that of one that does: ``-sSu``."""
_QUOTED_OR_BARE = r"(?:(?P<q>[\"'])(?P<s>(?:(?!(?P=q))[^\n$]){3,200})(?P=q)|(?P<t>[^\s\"'$|;&]{3,200}))"


def _of_user(value: str) -> bool:
    """True for what stands behind a user where a program takes both: no version, no tag of an image."""
    if made_up(value):
        return True
    return given(value) and not _TAG.match(value) and (stated(value) or is_word_and_number(value))


def _alone(value: str) -> bool:
    """True for a key that stands where a user would: ``-u 9f86…:``."""
    value = stripped(value)
    return not is_placeholder(value) and (
        is_strong(value) or bool(_HEX.match(value)) or (mixed(value) and random_looking(value))
    )


_CURLS = (
    form(
        "password",
        "curl",
        pattern=rf"{_CURL}(?:-(?-i:{_SWITCHES}[uU])|--(?:proxy-)?user)[ =]?[\"']?[^\s:\"'$]{{0,200}}:{_QUOTED_OR_BARE}",
        examples=(
            "curl -s -u admin:«hunter2» https://h/",
            "curl -u '<a12>:«<a20>»' https://h/",
            "curl --user 'admin:«swordfish7»' https://h/",
            "curl -sSu admin:«hunter2» https://h/",
            "curl -vku 'admin:«hunter2»' https://h/",
            "curl -su bob:'«p4ss word»' https://h/",
            "curl -u :«<a32>» https://h/",
            'curl https://api-m.acme.com/token -u "<w80>:«<w80>»" -d x=y',
            "curl.exe -fsSLU proxy:«hunter2» -x p:3128 https://h/",
        ),
        others=(
            "curl -u $USER:$PASS https://h",
            "curl https://h/x:y1",
            "curl -sSo file:name2 https://h",
            "curl -ku '$USER:$PASS' https://h",
        ),
        accept=given,
    ),
    form(
        "API key",
        "curl",
        pattern=rf"{_CURL}(?:-(?-i:{_SWITCHES}u)|--user)[ =]?[\"']?{_KEY}:(?:x|X|api_token|x-oauth-basic)?(?=[\s\"']|$)",
        examples=("curl -u «<a32>»: https://h/v1/charges", "curl -su '«<h40>»:x' https://h/v1"),
        others=("curl -u the_name_of_some_user_2: https://h/",),
        accept=_alone,
    ),
    form(
        "password",
        "curl",
        pattern=rf"{_CURL}(?:-(?-i:{_SWITCHES}E)|--(?:proxy-)?cert)[ =]?[\"']?[^\s:\"'$]{{1,200}}:(?P<s>[^\s\"'$]{{3,200}})",
        examples=("curl -E client.pem:«<a10>!» https://h", "curl --cert client.p12:«hunter2» https://h"),
        others=("curl -E client.pem:$PASS https://h", "curl --cert client.pem --key k.pem https://h:8443/"),
        accept=given,
    ),
)


_OPTIONS = (
    *(
        form(
            "password",
            anchor,
            pattern=rf"{anchor}(?:entication|entials?|s)?(?:[ ]?=[ ]?|[ ])[\"']?[A-Za-z][\w.@+-]{{0,40}}:(?P<s>[^\s\"'`$/:]{{5,200}})[\"']?(?=[ \n]|$)",
            line=r"(?:^|[ ])-[\w-]{0,24}$",
            examples=tuple(f"{each}«<a10>!x» https://h" for each in starts),
            others=(*tuple(f"{each}v2-latest" for each in starts), f"run {starts[0]}$PASS"),
            accept=_of_user,
        )
        for anchor, starts in (
            ("auth", ("http --auth bob:", "cli -auth bob:", "x --basic-auth=bob:")),
            (
                "cred",
                ("nats --creds bob:", "skopeo copy --src-creds bob:", "buildah push --credentials=bob:"),
            ),
            ("login", ("x --login bob:",)),
            ("basic", ("x --basic bob:",)),
            ("userpass", ("x --userpass bob:", "x --userpass=bob:")),
        )
    ),
    form(
        "password",
        " -a ",
        pattern=r" -a [\"']?[A-Za-z][\w.@+-]{0,40}:(?P<s>[^\s\"'`$/:]{5,200})[\"']?(?=[ \n]|$)",
        examples=("http -a bob:«<a10>!x» GET https://h", "ab -A bob:«<a12>» https://h/"),
        others=("run -a image:1.2.3", "x -a $USER:$PASS", "docker -a app:v2-latest"),
        accept=_of_user,
    ),
    form(
        "password",
        " -p ",
        pattern=r" -p [\"']?[A-Za-z][\w.@+-]{0,40}:(?P<s>[^\s\"'`$/:]{5,200})[\"']?(?=[ \n]|$)",
        line=r"(?<![\w.-])(?:ab|wrk|siege|h2load)(?:[ ][^|;&\n]*)?$",
        examples=("ab -P proxy:«<a12>» https://h/",),
        others=("ab -P proxy:$PASS https://h/", "docker run -p localhost:8080 x"),
        accept=_of_user,
    ),
    form(
        "password",
        "user.info=",
        pattern=r"user\.info=[\"']?[\w.@-]{1,60}:(?P<s>[^\s\"'`$]{4,200})",
        examples=("basic.auth.user.info=bob:«moonlight9»",),
        others=("basic.auth.user.info=$USER:$PASS",),
        accept=given,
    ),
    form(
        "password",
        "digest",
        pattern=r"digest[ :][\w.@-]{1,60}:(?P<s>[^\s\"'`$:]{4,200})(?=:[cdrwa]{1,5}(?!\w)|[ \t]*(?:\r?\n|$))",
        line=r"(?:addauth|setAcl)[ ][^\n]{0,80}$",
        examples=("addauth digest bob:«moonlight9»", "setAcl /x digest:bob:«moonlight9»:cdrwa"),
        others=("addauth digest bob:$PASS", "digest sha256:abc123"),
        accept=given,
    ),
    form(
        "password",
        " -n ",
        pattern=r" -n [\"']?[\w.@+-]{1,40}:(?P<s>[^\s\"'`$/:]{4,200})",
        line=r"transmission-(?:remote|create)[^|;&\n]*$",
        examples=("transmission-remote -n bob:«moonlight9»",),
        others=("transmission-remote -n $USER:$PASS",),
        accept=given,
    ),
    form(
        "password",
        "[+]",
        pattern=r"\[\+\][^\n]{0,60}?[\w.-]{1,40}\\{1,2}[\w.$-]{1,40}:(?P<s>[^\s\"'`]{4,100})(?=[ \t]*(?:\r?\n|$|\())",
        examples=("SMB 10.0.0.1 445 DC [+] acme.dev\\bob:«moonlight9» (Pwn3d!)",),
        others=("[+] done", "[+] C:\\temp: x"),
        accept=lambda value: given(value) and mixed(value),
    ),
    form(
        "password",
        "user=",
        pattern=r"user=[\"']?[A-Za-z][\w.@-]{0,60}:(?P<s>[^\s\"'`$/:]{5,200})(?=[\"']?(?:\s|$))",
        line=r"(?:^|[\s\"'])-{0,2}(?:lt-)?$",
        examples=("lt-cred-mech\nuser=turn:«<a20>»", "user=bob:«<a10>!»"),
        others=("docker run --user=app:staff2 x", "user=bob:$PASS"),
        accept=made_up,
    ),
    form(
        "password",
        "bundle",
        pattern=r"bundle (?:config )?(?:set )?(?:--\w+ )?(?:https?://)?[\w./-]{1,80} [\w.@-]{1,60}:(?P<s>[^\s\"'$:/]{5,200})",
        examples=(
            "bundle config gems.acme.io bob:«<a20>»",
            "bundle config set --global gems.acme.io bob:«<a12>»",
        ),
        others=("bundle config gems.acme.io bob:$TOKEN", "bundle exec rake db:migrate2"),
        accept=made_up,
    ),
    form(
        "password",
        "bundle_",
        pattern=r"bundle_\w{1,80}[\"']?(?:=|:[ ])[\"']?[\w.@-]{1,60}:(?P<s>[^\s\"'$:/]{5,200})",
        examples=("BUNDLE_GEMS__ACME__IO=bob:«<a20>»", 'BUNDLE_GEMS__ACME__IO: "bob:«<a20>»"'),
        others=("BUNDLE_PATH=vendor:bundle2", "BUNDLE_WITHOUT=test:development2"),
        accept=made_up,
    ),
    form(
        "password",
        "authident",
        pattern=r"authident[\"']?(?:[ ]?[:=][ ]?|[ ])[\"']?[\w.@-]{1,60}:(?P<s>[^\s\"'$]{5,200})",
        examples=('npmAuthIdent: "bob:«<a10>!»"',),
        others=('npmAuthIdent: "${NPM_USER}:${NPM_PASS}"',),
        accept=given,
    ),
    form(
        "API key",
        "sso-key",
        pattern=r"sso-key[ :]{1,2}(?P<s>[\w-]{8,80}:[\w-]{16,80})",
        examples=("godaddy sso-key: «<a12>:<a22>»", "-H 'Authorization: sso-key «<a12>:<a22>»'"),
        others=("sso-key key:secret", "sso-key $KEY:$SECRET"),
        accept=lambda value: mixed(value) and random_looking(value.partition(":")[2]),
    ),
)

_NO_USERS = "".join(
    f"(?<!{each}:)"
    for each in (
        "http https mailto to cc bcc from npm workspace patch acct sip sips xmpp git file link by at image docker email mail id ref"
        " author contact reply"
    ).split()
)
_AT_HOST = (
    form(
        "password",
        "@",
        pattern=r"(?<=[^\s\"'`])@(?!sha\d)[\w\[](?=[\w.:\[\]-]{2,}(?:[\s\"'`,;)/]|$))|(?<=[\"'])@(?!sha\d)[\w\[][\w.:-]{2,}",
        line=rf":(?<=\w:)(?i:{_NO_USERS})(?!\d{{2,5}}[/?#&])(?:(?P<q>[\"'])(?P<s>[^\s\"']{{4,100}})(?P=q)|(?P<t>[^\s\"'`@:/()\[\]{{}}<>,;]{{6,100}}))$",
        ahead=200,
        examples=(
            "mysqlsh --uri root:«<a10>!x»@db:3306",
            "impacket-psexec ACME/bob:'«<a10>!x»'@10.0.0.5",
            "python3 secretsdump.py ACME/bob:«<a12>»@10.0.0.5",
        ),
        others=(
            "image: app:v2.1.0-rc1@sha256:9f86d081",
            "mailto:bob2024@acme.io",
            '"react": "npm:react-v18@18.2.0"',
            "Email:anna.b1999@acme.io",
        ),
        accept=lambda value: (
            (made_up(value) and (has_symbol(value) or random_looking(value))) or is_chosen(value, beside=True)
        ),
    ),
    *(
        form(
            "password",
            anchor,
            pattern=rf"{re.escape(anchor)}[^\n|;&@]{{0,80}}?[\w$#]{{1,40}}/(?:\\{{0,3}}[\"'](?P<s>[^\s\"'\\/]{{4,60}})\\{{0,3}}[\"']|(?P<t>[^\s\"'\\@/]{{4,60}}))(?:@(?=[\w/])|(?=[ ]\w+=))",
            line=r"(?:^|[^\w])$",
            examples=(f"{anchor}scott/«<a10>»@orcl",),
            others=(f"{anchor}types/react-18@latest", f"{anchor}scott/$PASS@orcl"),
            accept=lambda value: made_up(value) or is_chosen(value, beside=True),
        )
        for anchor in ("exp ", "imp ", "expdp ", "impdp ", "sqlldr ", "rman ", "cx_oracle", "oracledb")
    ),
)

PAIRS: tuple[Form, ...] = (*_CURLS, *_OPTIONS, *_AT_HOST)
