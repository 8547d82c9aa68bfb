"""Secrets in the files of settings of programs that give them no name of their own, as a table."""

from __future__ import annotations

import re

from autocompact.core.redaction.building import VALUE, dense, form, given, made_up
from autocompact.core.redaction.rules import Form
from autocompact.core.redaction.values import has_symbol, mixed, random_looking, stripped, wordlike

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_HEX = re.compile(r"[0-9a-f]{32,256}$", re.IGNORECASE)


def _hexadecimal(value: str) -> bool:
    return bool(_HEX.match(value)) and mixed(value)


def _of_words(value: str) -> bool:
    """True for upper-case letters with or without digits in no order, as a node of Erlang makes its cookie."""
    value = stripped(value)
    return given(value) and (mixed(value) or value.isupper()) and random_looking(value)


_NETWORK = (
    form(
        "password",
        "auth_pass ",
        pattern=rf"auth_pass[ \t]+{VALUE}",
        line=r"(?m:^)[ \t]*$",
        examples=("vrrp_instance x {\n  auth_type PASS\n    auth_pass «<a8>»\n}",),
        others=("auth_pass $PASS", "auth_pass required"),
        accept=lambda value: given(value) and mixed(value),
    ),
    form(
        "password",
        "auth-pass ",
        pattern=r"auth-pass [\w.-]{1,60} (?P<s>[^\s\"'$]{4,200})",
        examples=("sentinel auth-pass mymaster «<a12>!»", "SENTINEL AUTH-PASS cache-1 «moonlight»"),
        others=("sentinel auth-pass mymaster $PASS", "auth-pass-1 is given"),
        accept=given,
    ),
    *(
        form(
            "password",
            anchor,
            pattern=rf"{anchor}\"?[ \t]+\"?(?P<s>[^\s\"]{{4,100}})\"?[ \t]+(?:\*|\"\*\"|\d)",
            line=r"(?m:^)[ \t]*\"?[\w.@\\-]{1,80}\"?[ \t]+\"?x?$",
            examples=(f"bob  {anchor}  «<a10>!»  *", f'"bob" {anchor} "«moonlight»" 10.0.0.2'),
            others=(f"bob {anchor} $PASS *", f"{anchor} starts 4 times"),
            accept=given,
        )
        for anchor in ("pptpd", "l2tpd", "ppp0")
    ),
    form(
        "password",
        "<keymaterial>",
        pattern=r"<keymaterial>\s{0,20}(?P<s>[^<>\n]{8,64}?)\s{0,20}</",
        examples=("<keyMaterial>«moonlight9»</keyMaterial>",),
        others=("<keyMaterial>$KEY</keyMaterial>",),
        accept=given,
    ),
    form(
        "password",
        " key=",
        pattern=rf" key={VALUE}",
        line=r"(?i:netsh wlan[ ][^|;&\n]*)$",
        examples=("netsh wlan set hostednetwork mode=allow ssid=x key=«moonlight9»",),
        others=("netsh wlan set x key=$KEY", "find key=moonlight9"),
        accept=given,
    ),
    form(
        "password",
        "option key ",
        pattern=r"option key ['\"]?(?P<s>[^\s'\"]{8,63})['\"]?",
        line=r"(?m:^)[ \t]*$",
        examples=(
            "config wifi-iface\n  option ssid 'home'\n  option key '«<a10>!»'",
            "option key «moonlight9»",
        ),
        others=("option key '$KEY'", "the option key is read"),
        accept=given,
    ),
    form(
        "password",
        "wireless.",
        pattern=r"wireless\.[^=\s]{1,60}\.(?:key|password|auth_secret)=['\"]?(?P<s>[^\s'\"]{8,63})",
        examples=("uci set wireless.default_radio0.key='«<a10>!»'",),
        others=("uci set wireless.default_radio0.key=$KEY", "uci set wireless.radio0.channel=36"),
        accept=given,
    ),
    form(
        "password",
        "put-parameter",
        pattern=rf"put-parameter[^\n|;&]{{0,300}}?[ ]--value[ =]{VALUE}",
        examples=("aws ssm put-parameter --name /prod/db --type SecureString --value '«<a10>!»'",),
        others=(
            "aws ssm put-parameter --name /prod/size --type String --value t3-micro",
            'aws ssm put-parameter --name /prod/db --value "$PASS"',
        ),
        accept=made_up,
    ),
    form(
        "token",
        "set-agent-token",
        pattern=rf"set-agent-token[ ][\w-]{{1,40}}[ ]\"?(?P<s>{_UUID})",
        examples=("consul acl set-agent-token default «<h8>-<h4>-<h4>-<h4>-<h12>»",),
        others=("consul acl set-agent-token default $TOKEN",),
    ),
)

_ECHOED = (
    *(
        form(
            "password",
            anchor,
            pattern=rf"{re.escape(anchor)}(?:-n )?[\"']?(?P<s>[^\s\"'$`)|]{{6,200}})[\"']?[ ]?\)",
            examples=(f"rsync --password-file={anchor}«<a10>!x») bob@h::m .".replace("!x»)", "!x»)"),),
            others=(f"diff {anchor}first) <(sort x)", f"{anchor}$PASS)"),
            accept=lambda value: made_up(value) or (given(value) and mixed(value)),
        )
        for anchor in ("<(echo ", "<(printf ")
    ),
    *(
        form(
            "password",
            anchor,
            pattern=rf"{anchor}[\"']?[ ]?[=:]?[ ]?[\"']?(?:echo|printf)[ ](?:-n )?[\\\"']{{0,3}}(?P<s>[^\s\"'\\$`)|]{{4,200}})",
            examples=(f"{anchor} 'echo «<a10>!»'", f'{anchor} "echo «moonlight9»"'),
            others=(f'{anchor} "echo $PASS"', f'{anchor} "pass show mail"'),
            accept=given,
        )
        for anchor in (
            "passcmd",
            "passwordeval",
            "password-command",
            "passphrase-command",
            "passwordcommand",
            "extpass",
            "password_cmd",
            "password-cmd",
        )
    ),
)

_NAMED = (
    form(
        "encryption key",
        "tionkey=",
        pattern=r"tionkey=\"(?P<s>[^\"\s,]{32,256})(?:,[^\"\n]{1,40})?\"",
        line=r"(?i:(?:valida|decryp))$",
        examples=('<machineKey validationKey="«<h128>»" validation="SHA1" />', 'decryptionKey="«<h48>»"'),
        others=('validationKey="AutoGenerate,IsolateApps"', 'decryptionKey="AutoGenerate"'),
        accept=_hexadecimal,
    ),
    *(
        form(
            "API key",
            anchor,
            pattern=rf"{anchor}(?:\\?[\"'])?[ ]?(?:[:=]|=>)[ ]?(?:\\?[\"'])?(?P<s>[0-9a-f]{{32}})(?!\w)",
            examples=(f'{anchor}: "«<h32>»"', f"{anchor}=«<h32>»"),
            others=(f"{anchor}: orders.created.v2", f"{anchor} = user.9f86d081.events"),
            accept=mixed,
        )
        for anchor in ("routing_key", "routing-key", "routingkey")
    ),
    form(
        "secret value",
        "erlang",
        pattern=r"erlang[_.-]?cookie\"?[ ]?[:=][ ]?[\"']?(?P<s>\w{12,255})",
        examples=("erlang_cookie: «<u20>»", "RABBITMQ_ERLANG_COOKIE=«XKZQWRTYPLMNBVCDFGHJ»"),
        others=("erlang_cookie: $COOKIE", "erlang.cookie: see the vault", "ERLANG_COOKIE=the_name_of_it"),
        accept=_of_words,
    ),
    *(
        form(
            "secret value",
            anchor,
            pattern=rf"{anchor}[\"']?[ ]?[:=][ ]?[\"'](?P<s>[\w+/=-]{{6,64}})[\"']",
            examples=(f'{anchor}: "«<a8>»"',),
            others=(f'{anchor}: "signing"', f'{anchor}: "app_salt_2"'),
            accept=lambda value: mixed(value) and wordlike(value) < 0.6,
        )
        for anchor in ("signing_salt", "encryption_salt")
    ),
    *(
        form(
            "token",
            anchor,
            pattern=rf"{anchor}[ ]?:\s{{0,8}}\{{\s{{0,40}}\"[\w.:-]{{1,80}}\"[ ]?:[ ]?\"(?P<s>[\w-]{{16,200}})",
            examples=(f'{{"git{anchor}: {{"github.com": "«<h40>»"}}}}',),
            others=(
                f'{{"git{anchor}: {{}}}}',
                f'{{"git{anchor}: {{"github.com": "see-the-vault-of-team-2"}}}}',
            ),
            accept=lambda value: dense(value) and random_looking(value),
        )
        for anchor in ('hub-oauth"', 'lab-oauth"', 'lab-token"')
    ),
    form(
        "credentials",
        'auth"',
        pattern=r"(?<=[\"\\])[\w.:/-]{0,200}[.:/][\w.:/-]{0,200}\\?\"\s{0,8}:\s{0,8}\{\s{0,40}\\?\"auth\\?\"\s{0,8}:\s{0,8}\\?\"(?P<s>[A-Za-z0-9+/]{16,4000}={0,2})",
        back=300,
        ahead=4100,
        examples=(
            '{\n\t"auths": {\n\t\t"https://index.docker.io/v1/": {\n\t\t\t"auth": "«<b48>==»"\n\t\t}\n\t}\n}',
        ),
        others=(
            '{"auths": {"ghcr.io": {}}}',
            '"ghcr.io": {"auth": "required"}',
            '{"a": {"auth": "<b48>=="}}',
        ),
        accept=dense,
    ),
)

_LOGINS = tuple(
    form(
        "password",
        anchor,
        pattern=rf"{anchor}(?P<s>[^\s:/\"'`@$<>()\[\]{{}},;]{{8,80}})(?=[\"'`.,;)]?(?:\s|$))",
        line=r"(?:^|[\s\"'`(>])$",
        examples=(f"console -> {anchor}«<a12>»", f"({anchor}«<a8>!x»)"),
        others=(f"chown {anchor}staff2 x", f"{anchor}settings-page2", f"{anchor}x:0:0::/srv"),
        accept=lambda value: made_up(value) and (has_symbol(value) or random_looking(value)),
    )
    for anchor in ("admin:", "root:", "administrator:")
)

SETTINGS: tuple[Form, ...] = (*_NETWORK, *_ECHOED, *_NAMED, *_LOGINS)
