"""Secrets that a parameter of a URL, a command or a sentence gives away without a name right before them, as a table."""

from __future__ import annotations

import re

from autocompact.core.redaction.building import VALUE, dense, form, given, program, stated
from autocompact.core.redaction.rules import Form
from autocompact.core.redaction.values import (
    Trust,
    has_symbol,
    is_password,
    is_session,
    is_strong,
    mixed,
    random_looking,
    stripped,
)
from autocompact.core.redaction.words import is_word

_HEX = re.compile(r"[0-9a-f]+", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$", re.IGNORECASE)


def _login(value: str) -> bool:
    return dense(value) and random_looking(value) and not _UUID.match(value)


def _pass_of_user(value: str) -> bool:
    """True for what stands after a user and a sign between: it must not be a word, a path or a number."""
    value = stripped(value)
    return stated(value) and (mixed(value) or random_looking(value))


def _folds(value: str) -> bool:
    return len(value) >= 8 and value[1:] not in (value[1:].lower(), value[1:].upper())


def _beside_slash(value: str) -> bool:
    value = stripped(value)
    return _pass_of_user(value) and (
        random_looking(value) or has_symbol(value) or "-" in value or _folds(value)
    )


def _phrase(value: str) -> bool:
    """True for a passphrase of a network, which may be words with blanks."""
    return given(value) and (" " in value or is_password(value, Trust.LITERAL) or is_word(value))


def _answers(value: str) -> bool:
    """True for what is made up and stands for itself as an answer."""
    return stated(value) and (has_symbol(value) or random_looking(value)) and "://" not in value


def _written(value: str) -> bool:
    return given(value) and (is_password(value, Trust.LITERAL) or (" " not in value and is_word(value)))


_ASKED = r"(?<!\w)(?:\w{0,20}[-_ ])?(?:pass(?:word|phrase|code|wort)?|pwd?|kennwort|login|credentials|zugangsdaten|mdp|mot de passe|contrase(?:ñ|n)a|clave|senha|wachtwoord|has[łl]o|пароль|token|secret|api[ -]?key)(?!\w)"
_REPLY = r"[<>-]?[ ]?(?:(?:yes|yep|yeah|sure|ja|klar|oui|s[íi]|tak|hai|it['’]s|es ist|c['’]est|es|è),?[ ])?(?:[\w.@+-]{1,40} / )?[\"'`„«]?(?P<s>[^\s\"'`„“«»]{8,80})[\"'`“»]?[ \t]*(?:\r?\n|$)"

_COMMANDS = (
    form(
        "password",
        " p: ",
        pattern=rf" p: {VALUE}",
        line=r"(?i:(?<!\w)u(?:ser)?: ?[\w.@+-]{1,60},?)$",
        examples=("u: bob p: «<l5>.<l6>.616»",),
        others=("u: bob p: 12", "x p: abc1234567"),
        accept=stated,
    ),
    form(
        "password",
        'psk="',
        pattern=r"psk=\"(?P<s>[^\"\n]{8,63})\"",
        line=r"(?m:^)[ \t]*$",
        examples=('network={\n    psk="«drei bunte vogel»"\n}', '\tpsk="«sommercolor»"'),
        others=('psk="$PSK_OF_WIFI"', 'psk="<your key>"'),
        accept=given,
    ),
    form(
        "password",
        "bindcredentials",
        pattern=r"bindcredentials[\"']?[ ]?[:=][ ]?[\"'](?P<s>[^\"'\n]{4,200})[\"']",
        examples=('"bindCredentials": "«Wolke.Regen31»"', "bindCredentials: '«<a12>»'"),
        others=('"bindCredentials": "${LDAP_PASSWORD}"', "bindCredentials is required"),
        accept=given,
    ),
    form(
        "password",
        "passphrase ",
        pattern=r"passphrase (?:is |ist |= ?|: ?)?(?P<s>\d{6,20})(?![\w.,-]\w|\w)",
        examples=("the guest wifi, passphrase «90417726»", "passphrase is «5520418»"),
        others=("passphrase 12 characters", "passphrase 2024-01-01"),
    ),
    form(
        "API key",
        "to quit: ",
        pattern=r"to quit: (?P<s>[\w-]{20,200})(?=[ \t]*(?:\r?\n|$))",
        line=r"(?i:key|token|password)[^\n]{0,100}$",
        examples=("wandb: Paste an API key and hit enter, or press ctrl+c to quit: «<h40>»",),
        others=("press q to quit: <h40>", "paste the key, ctrl+c to quit: "),
    ),
    form(
        "authenticator seed",
        "authenticator",
        pattern=r"authenticator(?:[ -]?app)?[\"']?[ ]?[:=][ \n]{1,3}[\"'`]?(?P<s>(?-i:[A-Z2-7]{16,64}))(?![\w-])",
        examples=("type this into your authenticator app: «KZXW6YTBOI2DQMZT»",),
        others=("authenticator app: GOOGLE", "authenticator: none"),
        accept=mixed,
    ),
    form(
        "licence key",
        "activation",
        pattern=r"activation(?: (?:key|code))?[ ]?:[ \n]{1,3}(?P<s>[A-Z0-9]{4,6}(?:-[A-Z0-9]{4,6}){3,7})(?![\w-])",
        examples=("server activation: «AB1CD-<u5>-<u5>-<u5>-<u5>»",),
        others=("activation: SOME-NAME-WITH-SIGNS",),
        accept=mixed,
    ),
    *(
        form(
            "password",
            ask,
            pattern=rf"{re.escape(ask)}[ \t]*\r?\n(?:\[[^\]\n]{{1,20}}\][ ])?(?:[^\n:]{{1,30}}:[ ])?{_REPLY}",
            line=rf"(?i:{_ASKED}[^\n?]{{0,80}})$",
            examples=(
                f"anna: do you know the root password{ask}\nben: yes, «<l6>!<l4>2»",
                f"wie lautet das WLAN-Kennwort{ask}\n«<l6>-<l4>!2»",
                f"staging login{ask}\n> admin / «<l6>!<l4>2»",
            ),
            others=(f"is the password right{ask}\nno, see issue-2", f"which password{ask}\nhttps://a.dev/x1"),
            accept=_answers,
        )
        for ask in ("?", " ?", "please", "bitte")
    ),
    form(
        "token",
        "use ",
        pattern=r"use [\"'`]?(?P<s>[\w~+/=.-]{20,300})[\"'`]? (?:as|for|in|with|to)[ ][^\n.]{0,60}?(?:token|key|secret|auth|bearer|credential)",
        examples=("use «<a32>» for the X-API-Key header",),
        others=("use get_the_token_of_2_users as key",),
        accept=is_strong,
    ),
    form(
        "token",
        "login=",
        pattern=r"login=(?P<s>[\w-]{20,200})(?![\w.-])",
        examples=("sonar-scanner -Dsonar.login=«<a32>»",),
        others=("login=the_name_of_some_user_2",),
        accept=is_strong,
    ),
    form(
        "token",
        "-api",
        pattern=r"-api[\"']?[ ]?[:,=][ ]?[\"']?(?P<s>[\w-]{20,200})(?![\w.-])",
        line=r"(?i:(?<!\w)x-[\w-]{0,30})$",
        examples=('"X-JFrog-Art-Api": "«<a40>»"',),
        others=("x-some-api: the-name-of-some-2-things",),
        accept=is_strong,
    ),
    *(
        form(
            "password",
            f"{user} / ",
            pattern=rf"{user} / [\"'`]?(?P<s>[^\s\"'`/]{{8,80}})(?=[\"'`]?[.,;)]?(?:\s|$))",
            line=r"(?:^|[ :=(\"'`])$",
            examples=(f"Admin user created: {user} / «<a14>»",),
            others=(f"{user} / operator2", f"pages: {user} / settings"),
            accept=lambda value: mixed(value) and random_looking(value) and is_password(value, Trust.STATED),
        )
        for user in ("admin", "root", "administrator")
    ),
    *(
        form(
            "secret value",
            option,
            pattern=rf"{option}[ =]{VALUE}",
            line=r"(?i:[ ](?:secrets?(?:[ -]version)?|secretsmanager|kv|env|parameter|variables?|config)[ :-][^\n|;&]{0,60}?(?:set|put|create|add|update)(?![a-z])[^\n|;&]{0,200})$",
            examples=(
                f"gh secret set NPM_TOKEN{option} '«<a14>»'",
                f"az keyvault secret set -n db{option} «<l5>-<l4>»",
            ),
            others=(
                f'gh secret set NPM_TOKEN{option} "$TOKEN"',
                f"gh issue create{option} 'The secret is out2'",
            ),
            accept=given,
        )
        for option in (" --body", " --value", " -b")
    ),
    *(
        form(
            "token",
            f" -{letter} ",
            pattern=rf"[ ]-{letter}[ ][\"']?(?P<s>[\w~+=-]{{20,200}})(?![\w~./:@+=-])",
            examples=(f"acmectl auth init -{letter} «<a32>»",),
            others=(
                f"run -{letter} the_name_of_2_images",
                f"git x -{letter} 9fceb02d0ae598e95dc970b74767f19372d61af8",
            ),
            accept=is_strong,
        )
        for letter in "akpstw"
    ),
    form(
        "password",
        "auth ",
        pattern=rf"(?<![\w-])(?-i:AUTH)[ ]+(?:(?:PLAIN|LOGIN|default)[ ]+)?{VALUE}",
        examples=(
            "127.0.0.1:6379> AUTH «<a12>»",
            "AUTH default «<l10>!1»",
            "AUTH PLAIN «AGFwcABodW50ZXIyeHk5»",
        ),
        others=("AUTH required by server", "AUTH LOGIN failed: 535"),
        accept=stated,
    ),
    form(
        "password",
        "auth ",
        pattern=rf"(?<![\w-])(?-i:AUTH)[ ]+(?!PLAIN|LOGIN)[\w.@+-]{{1,40}}[ ]+{VALUE}(?=[ \t]*(?:[\r\n;\"'`]|$))",
        examples=("> AUTH svc «<a14>»", "Then I send AUTH worker «<a14>»"),
        others=("AUTH failed connection2", "AUTH LOGIN failed: 535"),
        accept=lambda value: stated(value) and (random_looking(value) or has_symbol(value) or _folds(value)),
    ),
    form(
        "password",
        "auth ",
        pattern=rf"auth[ ]+(?:[\w.@+-]{{1,40}}[ ]+(?=\S))?{VALUE}[ \t]*(?=[\r\n]|$)",
        line=r"(?m:^)(?:[^\n]{0,80}:\d{2,5}(?:\[\d{1,3}\])?>|>|redis>)[ ]*$",
        examples=(
            "127.0.0.1:6379> AUTH svc «Sommerregen»",
            "cache:6380[2]> auth «swordfish»",
            "redis> AUTH default «<l8>»",
        ),
        others=("127.0.0.1:6379> AUTH $PASS", "client> AUTH LOGIN"),
        accept=lambda value: given(value) and len(value) >= 5,
    ),
    form(
        "password",
        " on >",
        pattern=r" on >(?P<s>[^\s\"'`]{3,200})",
        line=r"(?i:(?:setuser|(?m:^)user)[ ]\S{1,60})$",
        examples=("ACL SETUSER alice on >«Sommerregen» ~* +@all", "user worker on >«<a10>» ~jobs:* +@all"),
        others=("the user clicks on >next", "user bob on >$PASS"),
        accept=given,
    ),
    form(
        "password",
        "net user ",
        pattern=rf"net user \S{{1,60}}[ ]+(?![/*]){VALUE}[ ]*(?=/add|/dom|[\r\n\"'`]|$)",
        examples=("net user bob «<a12>» /add", "net user Administrator «Sommerregen7»"),
        others=("net user bob /active:yes", "net user bob * /add", "the net user count grew"),
        accept=lambda value: given(value) and len(value) >= 6 and (is_word(value) or not value.isalpha()),
    ),
    *(
        form(
            "password",
            anchor,
            pattern=rf"{anchor}(?:level \d{{1,2}} )?[05789] (?P<s>[^\s\"'`]{{4,200}})",
            line=r"(?m:^)[^\n]{0,40}$",
            examples=(f"{anchor}0 «Sommerregen»", f"{anchor}7 «094F471A1A0A»"),
            others=(f"{anchor}is set", f"{anchor}5 times"),
            accept=lambda value: given(value) and value.lower() not in {"times", "days", "characters", "or"},
        )
        for anchor in ("enable secret ", "enable password ")
    ),
    form(
        "password",
        "username ",
        pattern=r"username \S{1,60}(?: (?:privilege|role) \S{1,20}){0,2} (?:secret|password) [05789] (?P<s>[^\s\"'`]{4,200})",
        examples=(
            "username admin privilege 15 password 0 «Sommerregen»",
            "username admin secret 9 «$9$<a14>»",
        ),
        others=("username and password 8 characters long", "username bob password 0 or more"),
        accept=lambda value: (
            given(value) and (len(value) >= 6) and value.lower() not in {"characters", "letters"}
        ),
    ),
    form(
        "password",
        "snmp-server community ",
        pattern=r"snmp-server community (?P<s>[^\s\"'`]{4,100})",
        examples=("snmp-server community «rainbowbridge» RO",),
        others=("snmp-server community public RO", "snmp-server community private RW"),
        accept=given,
    ),
    form(
        "password",
        "pw",
        pattern=r"(?:(?<=bind)|(?<=root))pw[ \t]*(?::[ \t]*|[ \t])[\"']?(?!--)(?P<s>[^\s\"'`{}]{5,200})(?=[\"']?[ \t]*(?:[\r\n]|$))",
        line=r"(?m:^)[ \t]*(?i:olc)?(?i:bind|root)$",
        examples=("bindpw «Kaffeetasse»", "olcRootPW: «dragonfly»"),
        others=("bindpw is read", "rootpw {SSHA}", "rootpw secret"),
        accept=given,
    ),
    form(
        "password",
        "]:",
        pattern=r"\]:(?:25|465|587|2525)[ \t]+[\w.@+-]{1,80}:(?P<s>\S{4,200})(?=[ \t]*(?:[\r\n]|$))",
        examples=("[smtp.example.com]:587 bob@example.com:«Gewitternacht»",),
        others=("[::1]:587 is open", "[2024]:25 a:b"),
        accept=given,
    ),
    form(
        "password",
        "set password ",
        pattern=r"set password (?:for [^\n=]{1,80})?=[ ]?(?:password\()?[\"'](?P<s>[^\"'\n]{3,200})[\"']",
        examples=("SET PASSWORD FOR 'bob'@'%' = '«correcthorse»';", "SET PASSWORD = PASSWORD('«<a12>»')"),
        others=("SET PASSWORD FOR bob = '*'", "set password = ''"),
        accept=lambda value: given(value) and len(value) > 3,
    ),
    form(
        "secret value",
        'variable "',
        pattern=r"variable \"[\w-]{0,60}?(?:pass(?:word|wd)?|pwd|secret|token|api_?key|private_?key|access_?key)\"[ ]?\{[^{}]{0,300}?\bdefault[ ]{0,12}=[ ]?\"(?P<s>[^\"\n]{5,400})\"",
        examples=(
            'variable "db_password" {\n  type    = string\n  default = "«dragonfly»"\n}',
            'variable "api_key" {\n  default = "«<a24>»"\n}',
        ),
        others=(
            'variable "db_password" {\n  type = string\n}',
            'variable "db_password" {\n  default = ""\n}',
            'variable "secret_name" {\n  default = "prod-db-2024"\n}',
            'variable "db_password" {\n  default = "changeme"\n}',
        ),
        accept=given,
    ),
    form(
        "API key",
        "key",
        pattern=r"params[\"']?[ ]?[=:][ ]?\{[^{}]{0,200}?(?<![\w.])[\"']?key[\"']?[ ]?:[ ]?[\"'](?P<s>[0-9a-f]{32,64})[\"']",
        back=240,
        ahead=120,
        examples=(
            'requests.get(url, params={"q": city, "key": "«<h32>»"})',
            "params: { key: '<h32>' }".replace("<h32>", "«<h32>»"),
        ),
        others=('{"q": city, "key": "<h32>"}', 'params={"key": "name_of_2_things"}'),
    ),
    form(
        "token",
        "oauth:",
        pattern=r"(?<![\w-])oauth:(?P<s>[a-z0-9]{30})(?![\w-])",
        examples=("PASS oauth:«<l30>»", "pass oauth:«<l30>»"),
        others=("oauth:enabledforalltheusersofthisapp", "oauth:github:acme-app-2024"),
        accept=mixed,
    ),
    form(
        "session id",
        "sid=",
        pattern=r"(?<![\w-])sid=(?P<s>\w{20,200})(?![\w-])",
        examples=('curl -b "sid=«<h32>»" https://app.acme.dev/', "sid=«<a40>»"),
        others=("sid=SM<h32>", "sid=ORCL19C", "sid=the_name_of_2_sessions"),
        accept=is_session,
    ),
    form(
        "token",
        "snyk auth ",
        pattern=r"snyk auth (?P<s>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![\w-])",
        examples=("npx snyk auth «<h8>-<h4>-4<h3>-a<h3>-<h12>»",),
        others=("snyk auth --help",),
    ),
    form(
        "session id",
        "s%3a",
        pattern=r"s%3A(?P<s>[\w-]{20,}\.[A-Za-z0-9+/%]{20,})",
        examples=("connect.sid=s%3A«<a32>.<a43>»",),
        others=("s%3Athe-name-of-some-2-things",),
    ),
    form(
        "token",
        "codecov",
        pattern=r"codecov[^\n|;&]{0,120}?[ ](?:-t|--token)[ =][\"']?(?P<s>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![\w-])",
        examples=(
            "bash <(curl -s https://codecov.io/bash) -t «<h8>-<h4>-4<h3>-a<h3>-<h12>»",
            "./codecov upload-process -t «<h8>-<h4>-4<h3>-a<h3>-<h12>» -F unit",
        ),
        others=("codecov -t unit", "docker run -t 123e4567-e89b-12d3-a456-426614174000"),
    ),
    *(
        form(
            "password",
            anchor,
            pattern=rf"{anchor}(?:-\w+ ){{0,2}}(?:[\"']%s(?:\\n)?[\"'] )?(?:[\"'](?P<s>[^\"'\n$]{{4,200}})[\"']|(?P<t>[^\s\"'$|&;<>-][^\s\"'$|&;<>]{{3,200}}))[ ]?>>?[ ]?[\"']?[^\s|;&\"']{{0,120}}?(?:pass(?:word|wd|phrase)?|_pw|secret|token|api[-_]?key)(?:\.(?:txt|key|conf))?(?=[\"']?(?:[\s;&|]|$))",
            examples=(
                f"{anchor}'«mellow-Tundra-8»' > .vault_pass",
                f"{anchor}«<a14>» > /run/secrets/db_password",
            ),
            others=(
                f'{anchor}"$PASS" > .vault_pass',
                f"{anchor}'see the vault' > secret.txt",
                f"{anchor}done > log.txt",
            ),
            accept=_written,
        )
        for anchor in ("echo ", "printf ")
    ),
    form(
        "password",
        "secret",
        pattern=r"(?<![\w.])(?:client|home_server|realm)[ ][^\s{}]{1,80}[ ]?\{[^{}]{0,200}?(?<!\w)secret[ \t]{0,8}=[ \t]{0,8}[\"']?(?P<s>[^\s\"'{}#;]{4,100})",
        back=300,
        ahead=120,
        examples=(
            "client 10.0.0.0/8 { secret = «pebble.Hornet5» }",
            "client ap {\n  ipaddr = 10.0.0.4\n  secret = «moonlight9»\n}",
        ),
        others=("client ap { secret = ${RADIUS_SECRET} }", "{ secret = conf.secret2 }"),
        accept=given,
    ),
    form(
        "credentials",
        "response=",
        pattern=r"response=\"?(?P<s>[0-9a-f]{32,64})(?![0-9a-f])",
        line=r"(?i:digest[ ][^\n]*)$",
        examples=('Authorization: Digest username="bob", realm="x", uri="/", qop=auth, response="«<h32>»"',),
        others=("response=9f86d081884c7d659a2feaa0c55ad015",),
    ),
    form(
        "API key",
        '"keyname"',
        pattern=r"\"keyname\"[ ]?:[ ]?\"[^\"\n]{1,40}\",[^{}]{0,200}?\"value\"[ ]?:[ ]?\"(?P<s>[A-Za-z0-9+/]{40,}={0,2})\"",
        examples=('[{"keyName": "key1", "permissions": "FULL", "value": "«<b86>==»"}]',),
        others=('{"keyName": "key1", "value": "none"}',),
        accept=dense,
    ),
    form(
        "private key",
        "wg gen",
        pattern=r"wg gen(?:key|psk)\n(?P<s>[A-Za-z0-9+/]{43}=)",
        examples=("$ wg genkey\n«<b43>=»",),
        others=("wg genkey | tee key",),
    ),
    form(
        "secret value",
        ".key\n",
        pattern=r"\.key\n(?P<s>[0-9a-f]{32}|[0-9a-f]{64}|[0-9a-f]{128})(?!\w)",
        line=r"(?:cat|less|more|type)[ ]\S{0,100}(?:master|production|staging|secret\w{0,10}|credentials)$",
        examples=("$ cat config/master.key\n«<h32>»",),
        others=("$ cat public.key\n9f86d081884c7d659a2feaa0c55ad015",),
    ),
    form(
        "token",
        " login ",
        pattern=r" login (?:--?[\w-]+(?:=\S{1,80})?[ ]){0,3}[\"']?(?P<s>[A-Za-z0-9._-]{20,200})(?![\w/@:.-])",
        examples=("wandb login «<h40>»", "wandb login --relogin «<h40>»", "railway login «<a32>»"),
        others=("gh login continuous-integration-bot-2024", "az login 123e4567-e89b-12d3-a456-426614174000"),
        accept=_login,
    ),
    form(
        "password",
        "net use ",
        pattern=rf"net use [^\n|&]{{0,200}}?/u(?:ser)?:\S{{1,80}}[ ]+(?!/){VALUE}",
        examples=(r"net use Z: \\nas\share /user:ACME\bob «<a10>!»", r"net use \\h\c$ /u:adm «<a10>»"),
        others=(r"net use Z: \\nas\share /user:bob *", r"net use Z: \\nas\share /user:bob /persistent:yes"),
        accept=lambda value: given(value) and len(value) > 2,
    ),
    form(
        "password",
        "net use ",
        pattern=rf"net use (?:[A-Z*]:?[ ]+)?\\\\\S{{1,100}}[ ]+(?!/){VALUE}[ ]+/u",
        examples=(r"net use Z: \\nas\share «<a10>!» /user:bob",),
        accept=given,
    ),
    form(
        "password",
        "psk",
        pattern=r"(?<![a-z])psk[ ]?=[ ]?[\"'](?P<s>[^\"'\n]{8,63})[\"']",
        examples=('psk="«<l6> <l6> 42»"', 'psk="«<a12>»"', 'psk="«moonlight over water»"'),
        others=('psk="your wifi password 1"', 'psk="${WIFI_PSK}"'),
        accept=_phrase,
    ),
    form(
        "password",
        "psk",
        pattern=rf"(?<=[._-])psk[ ]+{VALUE}",
        examples=("nmcli con modify home wifi-sec.psk «<l11>7»",),
        others=("proto WPA-PSK TKIP", "wpa-psk required"),
        accept=stated,
    ),
    form(
        "password",
        "wpa",
        pattern=rf"(?<![a-z])wpa[23]?(?:[-/ _](?:psk|personal|wpa[23]))*[-_ ]?(?:key|pass(?:phrase|word)?|psk)(?:[ ]?[:=]|[ ]is)[ ]?{VALUE}",
        examples=("wpa_passphrase=«<l11>7»", "WPA2 key: «<a10>»", "WPA2-PSK passphrase: «blue-<l6>-77»"),
        others=("wpa_key_mgmt=WPA-PSK", "WPA2 key: required"),
        accept=stated,
    ),
    form(
        "password",
        "wifi:",
        pattern=r"wifi:(?:[TSH]:[^;\n]{0,64};){0,3}P:(?P<s>(?:\\.|[^;\\\n]){8,63});",
        examples=("WIFI:T:WPA;S:home;P:«<a12>»;;",),
        accept=given,
    ),
    form(
        "unseal key",
        "unseal",
        pattern=r"unseal(?:[ _-]?key)?(?:[ _-]?share)?[ ]?#?\d{0,3}[ ]?(?:\([^)\n]{1,20}\)[ ]?)?[:=][ ]*[\"'`]?(?P<s>[A-Za-z0-9+/]{32,90}={0,2})(?![\w+/=])",
        examples=("Unseal Key 1: «<b43>=»", "Unseal Key 5: «<b44>»", "unseal key: «<h66>»"),
        others=("Unseal Progress: 1/3", "Unseal Nonce: 123e4567-e89b-12d3-a456-426614174000"),
        accept=dense,
    ),
    form(
        "unseal key",
        "recovery key ",
        pattern=r"recovery key \d{1,3}:[ ]*(?P<s>[A-Za-z0-9+/]{32,90}={0,2})(?![\w+/=])",
        examples=("Recovery Key 2: «<b43>=»",),
        accept=dense,
    ),
    form(
        "unseal key",
        "keys_",
        pattern=r"keys_(?:b64|base64|hex)\\{0,3}\"[ ]?:[ \n]*\[[ \n]*(?P<s>\\{0,3}\"[^\]\[{}]{32,2000}\")",
        examples=('"unseal_keys_b64": [«"<b43>=", "<b43>="»], "t": 3',),
    ),
    form(
        "API key",
        "ssws ",
        pattern=r"(?<![A-Za-z])ssws (?P<s>[\w-]{20,})",
        examples=("-H 'Authorization: SSWS «00<w40>»'", "okta header is SSWS «00<w38>»"),
        others=("SSWS authentication_scheme_of_okta",),
        accept=dense,
    ),
)

_TICK = r"[\"'`“„«]?"
_SECRET = r"(?P<s>[^\s\"'`<>/|(){}«»“”，。][^\s\"'`<>|(){}«»“”，。]{3,80}?)"
_STOP = r"(?=[\"'`«»“”,.;)，。]{0,3}(?:\s|$|\"[,}\]]))"
_USER = r"[A-Za-z][\w.@+-]{0,40}"

_AFTER_WORDS = "(?:{})".format(
    "|".join(
        f"(?<= {word} )"
        for word in (
            "as for is now als ist comme est con come è como é the your my our its a das le la o new admin root default"
            " initial temporary login database db de"
        ).split()
    )
)
"""Cheap to look for: only after one of these is the line before it read."""

_PROVIDERS = (
    "google|github|gitlab|facebook|microsoft|apple|twitter|linkedin|okta|slack|discord|bitbucket|azure|saml|sso|oauth|oidc|ldap|keycloak"
    "|user|username|email|e-mail|mail|name|your|the|a|an|admin/operator|google/github"
)
_WORD_END = r"(?=[\"'`]?(?:[.,;!)]|\s*$|\s*[\r\n]|[ ](?:and|on|to|at|for|und|auf|et|y|e)[ ]))"


_SENTENCES = (
    *(
        form(
            "password",
            anchor,
            pattern=rf"{anchor}(?: \w{{1,20}}){{0,4}}? (?:with|as|using|mit|avec|con|com) {_TICK}(?!(?:{_PROVIDERS})\b){_USER}{_TICK} / {_TICK}(?P<s>[a-z]{{8,40}}){_WORD_END}",
            examples=(
                f"{anchor} with bob / «moonlight»",
                f"{anchor} with bob / «moonlight» and check the dashboard",
            ),
            others=(
                f"{anchor} with google / facebook",
                f"{anchor} with email / password",
                f"{anchor} with bob / required",
                f"{anchor} with bob / whatever you like",
            ),
            accept=is_word,
        )
        for anchor in ("log in", "login", "sign in")
    ),
    *(
        form(
            "password",
            anchor,
            pattern=rf"{anchor}{tail} (?:de|del|do|da|della|du|der|des|für|for|of|pour|para|per|von|vom|zum)(?: [^\s.:;=!?,\"'`<>]{{1,30}}){{1,5}}[ ]?[:：][ ]?{_TICK}{_SECRET}{_STOP}",
            examples=(f"{said}: «<l8>-<l4>»",),
            others=(f"{said}: required",),
            accept=_pass_of_user,
        )
        for anchor, tail, said in (
            ("pass", r"(?:word|wort|e)", "Passwort für die Datenbank"),
            ("contrase", r"ñ?n?a", "contraseña de la base de datos"),
            ("senha", "", "senha do banco"),
            ("kennwort", "", "Kennwort der Anlage"),
        )
    ),
    form(
        "password",
        "parametervalue=",
        pattern=r"parametervalue=(?P<s>[^\s,\"'`]{5,200})",
        line=r"(?i:parameterkey=\w{0,60}(?:pass(?:word|wd)?|pwd|secret|token|apikey),)$",
        examples=("ParameterKey=DBPassword,ParameterValue=«<a12>!»",),
        others=(
            "ParameterKey=DBPassword,ParameterValue=$PASS",
            "ParameterKey=Size,ParameterValue=t3.micro9x",
        ),
        accept=given,
    ),
    program(
        "lftp",
        " -u ",
        option=r"[ ]-u [\w.@-]{1,60},",
        examples=("lftp -u bob,«<a10>!» ftp.example.com",),
        others=("lftp -u bob ftp.example.com", "lftp -u bob,$PASS ftp.example.com"),
    ),
    form(
        "secret value",
        "base64:",
        pattern=r"base64:(?P<s>[A-Za-z0-9+/]{20,}={0,2})",
        line=r"(?i:(?:key|secret|token|password)[\"']?[ ]?[=:][ ]?[\"']?)$",
        examples=("Step 3. APP_KEY=base64:«<b43>=»",),
        others=("image=base64:iVBORw0KGgoAAAANSUhEUgAAAAUA", "APP_KEY=base64:your-key-goes-here-1234567"),
        accept=dense,
    ),
    form(
        "password",
        "={",
        pattern=r"=\{(?P<s>[^{}\n\"']{5,100})\}(?=[;\"'\s]|$)",
        line=r"(?i:(?:^|;)[ ]?(?:pwd|password))$",
        examples=("UID=sa;PWD={«<a8>;x!»};",),
        others=("UID={user};PWD={password};", "x;PWD={settings.db_password2};", "PWD={pw[0]}"),
        accept=lambda value: stated(value) and has_symbol(value),
    ),
    *(
        form(
            "API key",
            anchor,
            pattern=rf"{re.escape(anchor)}[\"'](?P<s>[A-Za-z0-9_-]{{30,200}})[\"']",
            examples=(f"x = {anchor}'«<a40>')".replace("')", "»')"),),
            others=(f"{anchor}'continuous-integration-of-2024-builds')", f"{anchor}'{'0a' * 20}')"),
            accept=lambda value: _login(value) and not (_HEX.fullmatch(value) or value.startswith("pk_")),
        )
        for anchor in (
            "client(",
            "stripe(",
            "openai(",
            "anthropic(",
            "resend(",
            "sendgrid(",
            "mailchimp(",
            "octokit(",
            "apikey(",
            "api_key(",
            "setapikey(",
        )
    ),
    form(
        "password",
        "pass",
        pattern=_AFTER_WORDS
        + r"pass(?:word|phrase|wd|code|wort|e)?(?![A-Za-z0-9_-])(?! (?:hash|field|algo|manager|policy|encod|stor|format|type|length|file|backend|provider|input|column|param|variable|name|reset|prompt))",
        line=r"(?i:(?<!\S)[\"'`“„«(]?(?P<s>[^\s\"'`“”„«»<>()]{6,80})[\"'`“”»)]?(?:,? (?:as|for|is|is now|als|ist|comme|est|con|come|è|como|é)| \((?:as|is|it['’]s)?)"
        r"(?:(?:(?<=\()| )(?:the|your|my|our|its|a|das|le|la|o|new|admin|root|default|initial|temporary|login|database|db|mot|de)){0,4} )$",
        examples=(
            "use «<a10>!x» as the password",
            "Connect with «<a10>» as root password please.",
            "Nimm «<a12>» als Passwort",
            "«<l6>-<l6>-42» is the password for staging",
            "I set it to `«<l6>-<l6>-42»` (the db password)",
            "utilise «<a12>» comme mot de passe",
        ),
        others=(
            "use it as the password",
            "treat user42 as the password field",
            "bcrypt2 is the default password hash",
        ),
        accept=stated,
    ),
    form(
        "password",
        "cred",
        pattern=rf"cred(?:ential)?s?(?: \w{{1,20}}){{0,3}}?(?: (?:are|is|were)|[ ]?[:=：])[ ]?{_TICK}(?!https?:|arn:|file:){_USER}[\"'`]?[ ]?(?::|/|,|\band\b)[ ]?{_TICK}{_SECRET}{_STOP}",
        examples=(
            "the creds are admin:«<a10>»",
            "Credentials for the box: root / «<a12>!»",
            "creds: svc:«blue-<l6>-42»",
        ),
        others=(
            "credentials: file:secrets1.txt",
            "the creds are in vault: path kv/data2",
            "credentials: arn:aws:iam::1",
        ),
        accept=_pass_of_user,
    ),
    *(
        form(
            "password",
            anchor,
            pattern=rf"{anchor}(?:ged|ging)?(?:[ -]?in|[ -]?daten|[ -]?details|[ -]?data)?(?: \w{{1,20}}){{0,4}}?(?: (?:with|as|using|is|via|mit|avec|con|com)|[ ]?[:：])[ ]{_TICK}(?!https?:|arn:|file:){_USER}[\"'`]?(?P<between>[ ]?/[ ]?|:|[ ]and[ ]|,[ ]){_TICK}{_SECRET}{_STOP}",
            examples=(
                f"{anchor} with admin / «<a10>!»",
                f"You can {anchor} to grafana as admin:«<a12>»",
                f"{anchor}: bob / «<a14>»",
            ),
            others=(
                f"{anchor} with google/oauth2 today",
                f"{anchor} as alice, then open page-2024",
                f"{anchor} at https://host:8443/x1",
            ),
            accept=_beside_slash,
        )
        for anchor in ("log in", "login", "sign in")
    ),
    form(
        "password",
        "pass",
        pattern=rf"(?:(?<=/)|(?<=/ ))pass(?:word|wd)?(?:[ ]?[:=]|[ ]is)[ ]?{_TICK}{_USER}[ ]?[/:|][ ]?{_TICK}{_SECRET}{_STOP}",
        examples=("user/pass: admin/«<a12>»", "username / password: bob / «<a10>!»"),
        others=("user/pass: see vault", "user/password: required/optional"),
        accept=_pass_of_user,
    ),
)

STATEMENTS: tuple[Form, ...] = (*_COMMANDS, *_SENTENCES)
