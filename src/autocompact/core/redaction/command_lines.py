"""Secrets at a place of a command line that belongs to them: by program the options, and the words of whole commands.

A program that takes a password as a word or as a short option says nothing about it, so the programs are a table: what
else stands on the line is written as it is typed, and the pattern, the examples and the counter-examples are made of it.
"""

from __future__ import annotations

import re

from autocompact.core.patterns import LazyPattern
from autocompact.core.redaction.building import VALUE, form, given
from autocompact.core.redaction.rules import Form
from autocompact.core.redaction.values import (
    entropy,
    has_symbol,
    is_chosen,
    is_common,
    is_ordinary,
    mixed,
    random_looking,
    stripped,
)
from autocompact.core.redaction.words import JOINING, is_passphrase, is_spaced, is_word

_WORD = r"(?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|[^\s\"'|;&<>-][^\s|;&<>]{0,200})"
_MORE = r"(?:[^\n|;&]{0,200}?[ ])?"


def _argument(value: str) -> bool:
    """True for what a program is given at a place that belongs to a secret: no placeholder, no word of a sentence."""
    if len(value) < 3 or value[0] == "+":
        return False
    return given(value) and not is_common(value) and value.lower() not in JOINING


def _key(value: str) -> bool:
    """True for a token at a place that belongs to one: also in hexadecimal digits, as a digest is."""
    value = stripped(value)
    return len(value) >= 12 and mixed(value) and entropy(value) >= 2.8 and not is_ordinary(value)


def _is_made_up(value: str) -> bool:
    value = stripped(value)
    if not given(value) or "/" in value or not mixed(value):
        return False
    if is_chosen(value) and has_symbol(value):
        return True
    return (
        len(value) >= 10
        and value.isalnum()
        and random_looking(value)
        and value not in (value.lower(), value.upper())
    )


# Options -----------------------------------------------------------------------------------------------------

_OPTIONS = (
    (
        "-p ",
        "sshpass psexec mongo mongosh mongodump mongorestore mongoexport mongoimport sqlplus login unlock-keychain create-keychain keytool vncpasswd sonar-scanner kinit useradd usermod"
        " mcrcon rcon rcon-cli fs_cli beeline steghide hash-password veracrypt conan racadm hdbsql exaplus cypher-shell cqlsh nxc crackmapexec netexec"
        " evil-winrm rdesktop xfreerdp rabbitmqadmin elasticsearch-users altool notarytool pihole supabase ldapdomaindump msoffcrypto-tool ipa-server-install smbmap kadmin ncftp ncftpget ncftpput",
    ),
    (
        "-P ",
        "sqlcmd bcp ipmitool ipmi-power zip unzip isql tsql mosquitto_pub mosquitto_sub mosquitto_rr security ssh-keygen p4 knife",
    ),
    ("-N ", "ssh-keygen"),
    (
        "-w ",
        "ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldappasswd ldapmodrdn ldapcompare security vsql kadmin kadmin.local dsconf",
    ),
    ("-s ", "ldappasswd"),
    ("-pw ", "plink pscp psftp putty winscp nzsql nzload dsmadmc addprinc cpw"),
    ("-k ", "openssl outguess mcrypt set-key-partition-list"),
    ("-K ", "ccrypt"),
    ("-W ", "electrum"),
    ("-a ", "redis-cli ipa-server-install"),
    ("-c ", "snmpwalk snmpget snmpgetnext snmpbulkwalk snmpset snmptable snmptrap"),
    ("-upw ", "pdftotext pdftoppm pdfimages pdfinfo pdftocairo"),
    ("-opw ", "pdftotext pdftoppm pdfimages pdfinfo pdftocairo"),
    ("input_pw ", "pdftk"),
    ("owner_pw ", "pdftk"),
    ("user_pw ", "pdftk"),
    ("/rp ", "schtasks"),
    ("/p ", "signtool"),
    ("/p:", "freerdp xfreerdp xfreerdp3 wfreerdp mstsc rdesktop"),
    ("/pass:", "cmdkey runas"),
    (
        "-p",
        "mysql mysqldump mysqladmin mysqlsh mysqlimport mysqlcheck mariadb mariadb-dump 7z 7za 7zr unrar rar sshpass",
    ),
    ("-hp", "rar unrar"),
    ("-p=", "choco"),
    ("-P", "zip ipmitool"),
    ("-passin pass:", "openssl"),
    ("-passout pass:", "openssl"),
    ("-pass pass:", "openssl"),
    ("-password pass:", "openssl"),
    ("--ks-pass pass:", "apksigner"),
    ("--key-pass pass:", "apksigner"),
)
"""What stands before the secret, and the programs (or their subcommands) whose lines have it there."""


_KEY_OPTIONS = (
    ("-p ", "vsce ovsx twine"),
    ("-k ", "nuget openai"),
    ("-t ", "doctl pushover"),
    ("-u ", "pushover"),
    ("-r ", "gitlab-runner"),
    ("-a ", "hatch"),
    ("--key ", "gem"),
    ("--configure ", "slackcat telegram-send"),
)
"""The same for keys, whose values are told from names."""


def _option(option: str, programs: str, *, key: bool = False, before: str = " ") -> Form:
    names = programs.split()
    return Form(
        kind="token" if key else "password",
        anchor=f"{before}{option.lower()}",
        pattern=LazyPattern(
            rf"{re.escape(before)}{re.escape(option)}{'[ ]*' if option[-1] == ' ' else ''}{VALUE}"
        ),
        line=LazyPattern(
            rf"(?<![\w.-])(?:{'|'.join(map(re.escape, names))})(?![\w-])[^|;&\n]*$", re.MULTILINE
        ),
        examples=tuple(f"{name} {option}«{'<h32>' if key else '<a10>!'}»" for name in names)
        if before == " "
        else tuple(f"{name} x {before}{option}«<a10>!»{before}" for name in names),
        others=(f"{names[0]} {option}$PASS", f"x {option}2"),
        accept=_key if key else _argument,
    )


_SIGNED = tuple(
    Form(
        kind="password",
        anchor=f" {option.lower()} ",
        pattern=LazyPattern(rf"[ ]{option}[ ]+{VALUE}"),
        line=LazyPattern(r"(?m:^)(?![^\n]*(?<![\w-])(?:mkdir|cp|git|docker|cargo|tar|tmux)[ ])[^\n]*$"),
        examples=(f"acmectl {option} «kT9wLf2L23XD» x", f"acmectl -h h {option} '«Moon!Light_77»'"),
        others=(
            f"acmectl {option} 8080:80",
            f"acmectl {option} crate-name-2",
            f"acmectl {option} $PASS",
            f"acmectl {option} src/V2ray",
        ),
        accept=_is_made_up,
    )
    for option in ("-p", "-P", "-w")
)
"""The options that most programs have for a password: what is made up beyond doubt, whatever the program."""


# Whole commands ----------------------------------------------------------------------------------------------

_COMMANDS = r"""
http-basic.* * $
steamcmd … +login * $
smbclient //* $
smbclient \\* $
mosquitto_passwd … -b * * $
encrypt_string $
isql * * $
.logon */*,$
rclone obscure $
rclone config create … pass $
hash-password --plaintext $
shell input text $
net user /add * $
dscl . -passwd * $
shadow.set_password * $
exec sp_addlogin *, $
exec sp_password *, $
reset-admin-password $
set-initial-password $
iwconfig * key s:$
-setairportnetwork * * $
prosodyctl register * * $
ejabberdctl register * * $
ejabberdctl change_password * * $
add-user.sh * $
hdbuserstore SET * * * $
mega-login * $
quote PASS $
wpa_passphrase * $
rabbitmqctl … add_user * $
rabbitmqctl … change_password * $
rabbitmqctl … authenticate_user * $
drush user:password * $
drush upwd * $
cf auth * $
mysqladmin … password $
ipmitool … user set password * $
mc alias set * * * $
mc config host add * * * $
db2 connect to * user * using $
"""
"""Commands as they are typed: ``*`` is a word, ``…`` any others, ``$`` the secret."""

_KEY_COMMANDS = r"""
pypi-token.* $
github-oauth.* $
gitlab-token.* $
gitlab-oauth.* $
bitbucket-oauth.* * $
nuget push * $
nuget setapikey $
vercel env add * * $
wrangler secret put * $
snyk auth $
vault token renew $
vault login $
--certificate-key $
twilio login * $
b2 authorize-account * $
b2 account authorize * $
llm keys set * --value $
doppler secrets set *=$
--api-key *=$
linear-cli auth $
ngrok authtoken $
config add-authtoken $
cargo login $
"""
"""The same for keys."""


def _command(said: str, *, key: bool = False) -> Form:
    words = said.split(" ")
    anchor = re.split(r"[*…$]", said)[0].lower().rstrip("\\")
    pattern = "".join(map(_word, words[:-1])) + _word(words[-1]).removesuffix("[ ]+")
    example = said.replace("…", "-v").replace("*", "bob")
    return Form(
        kind="token" if key else "password",
        anchor=anchor,
        pattern=LazyPattern((r"(?<![\w.-])" if anchor[0].isalpha() else "") + pattern, re.IGNORECASE),
        examples=(example.replace("$", "«<h32>»" if key else "«<a10>!»"),),
        others=(example.replace("$", "$PASS"), example.replace("$", "--help")),
        accept=_key if key else _argument,
    )


def _word(word: str) -> str:
    if word == "…":
        return _MORE
    if word == "*":
        return rf"{_WORD}[ ]+"
    return re.escape(word).replace(r"\*", r"[^\s|;&<>]{0,200}").replace(r"\$", VALUE) + "[ ]+"


# Standard input ----------------------------------------------------------------------------------------------

_READERS = tuple(
    "kinit|sudo -S|passwd --stdin|p4 login|p4 passwd|openconnect|openfortivpn|cryptsetup|vncpasswd|ssh-add|gh auth|gh secret|glab auth|glab variable"
    "|vercel env|wrangler secret|fly secrets|netlify env|docker secret|podman secret|smbpasswd|secret-tool|pass insert|ansible-vault|oc login"
    "|cf login|helm registry|pulumi config|op item|doveadm pw|htpasswd -i|mkpasswd|openssl passwd|argon2|age -p"
    "|elasticsearch-reset-password|elasticsearch-keystore|gitlab-rake|bw login|keytool|certutil|realm join|adcli join|net ads join".split(
        "|"
    )
)
"""Programs that read a secret from their standard input."""


def _fed(value: str) -> bool:
    return _argument(value) and (
        " " not in value or is_spaced(value) or is_word(value) or is_passphrase(value)
    )


_ECHOED = r"(?:echo|printf)[ ](?:-n |-e |-ne |'%s(?:\\n)?' |\"%s(?:\\n)?\" )?(?:'(?P<q>[^'\n]{3,200})'|\"(?P<d>[^\"\n$]{3,200})\"|(?P<s>[^\s\"'|$&;<>]{3,200}))[ ]*$"
_PIPED = tuple(
    form(
        "password",
        f"| {reader.lower()}",
        pattern=re.escape(f"| {reader}"),
        line=_ECHOED,
        examples=(f"echo «moonlight9» | {reader} x", f"printf '%s' '«Moon$Light7»' | {reader}"),
        others=(f'echo "$PASS" | {reader} x', f"echo $PASS | {reader}", f"cat x | {reader}"),
        accept=_fed,
    )
    for reader in _READERS
)
_HERE = form(
    "password",
    "<<<",
    pattern=rf"<<<[ ]?{VALUE}",
    line=rf"(?m:^)(?![^\n]*(?:grep|rg|cat|wc)[ ])[^\n]*?(?:{'|'.join(_READERS)}|-stdin|--with-token|passw|crypt|secret|login|insert)[^|\n]{{0,200}}$",
    examples=(
        "cryptsetup luksOpen /dev/sda2 x <<< '«<l8>»'",
        "vncpasswd -f <<< '«<l5>Marble85»'",
        "kinit bob <<< «moonlight9»",
        "sudo -S <<< «swordfish9» apt update",
    ),
    others=("grep passwd <<< 'some text2'", "crypt <<< '$X'", "read -r x <<< moonlight9"),
    accept=_fed,
)

COMMAND_LINES: tuple[Form, ...] = (
    *(_option(*row) for row in _OPTIONS),
    *(_option(*row, key=True) for row in _KEY_OPTIONS),
    *(
        _option(*row, before=quote)
        for row in _OPTIONS
        if row[0] in ("-p", "-hp", "/p:", "/pass:")
        for quote in "'\""
    ),
    *_SIGNED,
    *map(_command, _COMMANDS.strip().split("\n")),
    *(_command(said, key=True) for said in _KEY_COMMANDS.strip().split("\n")),
    *_PIPED,
    _HERE,
)
