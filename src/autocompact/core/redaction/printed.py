"""What a command prints whose work is to make, read or show a secret, as a table: the value, on a line of its own."""

from __future__ import annotations

import re

from autocompact.core.redaction.building import dense, form, given
from autocompact.core.redaction.rules import Form
from autocompact.core.redaction.values import (
    has_symbol,
    is_placeholder,
    is_reference,
    mixed,
    random_looking,
)

_REST = r"(?![^\n]{0,300}(?:public|pubkey|--help|\|[ ]?(?:sha|md5|wc|age)))[^\n]{0,400}\r?\n(?:[^\n]{0,120}warning[^\n]{0,200}\n)?"
"""What the line of the command goes on with, and a warning below it."""
_VALUE = r"(?:base64:)?[\"']?(?P<s>[^\s\"'`<>(){},;]{8,4000})[\"']?[ \t]*(?=\r?\n|$)"


def _is_printed(value: str) -> bool:
    """True for what is made up; a path and what stands for a value are printed by other commands."""
    named = (value[0] == "/" and len(value) < 24) or is_placeholder(value) or is_reference(value)
    return not named and mixed(value) and (random_looking(value) or has_symbol(value))


_COMMANDS = tuple(
    form(
        "secret value",
        anchor,
        pattern=rf"{re.escape(anchor)}{_REST}{_VALUE}",
        line=rf"(?<![\w.-]){said.split()[0]}(?:[ ][^\n]*)?$" if anchor.startswith(" ") else "",
        examples=(f"$ {said}\n«<a32>»\n$ ls", f"$ {said}\n«<a24>+<a8>=»"),
        others=(
            f"$ {said}\nusage: see the page of version-2",
            f"$ {said}\nYOUR_TOKEN_2\n",
            f"$ {said}\n/etc/app/v2",
        ),
        accept=_is_printed,
    )
    for anchor, said in (
        # of clouds
        (" keys list", "az storage account keys list -n x --query '[0].value' -o tsv"),
        (" keys renew", "az storage account keys renew -n x --key primary -o tsv"),
        (" keys show", "az search admin-key keys show -o tsv"),
        (" key list", "az eventgrid topic key list -n x --query key1 -o tsv"),
        (" list-keys", "az redis list-keys -n x --query primaryKey -o tsv"),
        ("credential show", "az acr credential show -n acme --query 'passwords[0].value' -o tsv"),
        ("get-access-token", "az account get-access-token --query accessToken -o tsv"),
        ("print-access-token", "gcloud auth print-access-token"),
        ("print-identity-token", "gcloud auth print-identity-token"),
        ("with-decryption", "aws ssm get-parameter --name x --with-decryption --output text"),
        ("get-authorization-token", "aws codeartifact get-authorization-token --domain d --output text"),
        ("get-login-password", "aws ecr get-login-password"),
        # of stores of secrets
        ("op read ", "op read op://prod/db/x"),
        ("op item get ", "op item get db --fields x --reveal"),
        ("gopass ", "gopass show -o infra/db"),
        ("bw get ", "bw get password acme"),
        ("bw unlock", "bw unlock --raw"),
        ("lpass show", "lpass show --password acme"),
        ("keepassxc-cli ", "keepassxc-cli show -s x.kdbx acme"),
        ("chamber read ", "chamber read prod db -q"),
        ("credstash get ", "credstash get prod.db"),
        ("eyaml decrypt", "eyaml decrypt -s x"),
        ("get-secret-value", "aws secretsmanager get-secret-value --secret-id db --output text"),
        ("getnetworkcredential()", "$c.GetNetworkCredential().Password"),
        ("initial-password", "argocd admin initial-password -n argocd"),
        (".erlang.cookie", "cat ~/.erlang.cookie"),
        ("get_cookie()", "rabbitmqctl eval 'erlang:get_cookie().'"),
        (" create token", "kubectl create token deployer"),
        ("token create", "vault token create -field=token"),
        ("auth token", "gh auth token"),
        # that make one
        ("openssl rand", "openssl rand -hex 32"),
        ("crypto rand ", "step crypto rand 32"),
        ("apg ", "apg -n 1 -m 16"),
        ("makepasswd", "makepasswd --chars 32"),
        ("token_hex(", "python -c 'import secrets; print(secrets.token_hex(32))'"),
        ("token_urlsafe(", "python -c 'import secrets; print(secrets.token_urlsafe(32))'"),
        ("generate_key(", "python -c 'from cryptography.fernet import Fernet; print(Fernet.generate_key())'"),
        ("randombytes(", "node -e \"console.log(require('crypto').randomBytes(32).toString('hex'))\""),
        ("securerandom", "ruby -rsecurerandom -e 'puts SecureRandom.hex(64)'"),
        ("get-random", "PS> [Convert]::ToBase64String((1..32|%{Get-Random -Max 256}))"),
        ("randomnumbergenerator", "PS> [Convert]::ToHexString([RandomNumberGenerator]::GetBytes(32))"),
        ("/dev/urandom", "head -c 32 /dev/urandom | base64"),
        ("genkey", "nats-server genkey"),
        ("key:generate", "php artisan key:generate --show"),
        ("rails secret", "rails secret"),
        ("gen.secret", "mix phx.gen.secret"),
        ("preauthkeys create", "headscale preauthkeys create -u 1"),
        ("apikeys create", "headscale apikeys create"),
        ("tokens create", "influx tokens create -o x"),
        ("tokens add", "cscli tokens add x"),
        ("api-keys create", "acmectl api-keys create x"),
    )
)

_TABLES = (
    *(
        form(
            "API key",
            anchor,
            pattern=rf"{anchor}[ \t]{{1,40}}(?:\w{{1,12}}[ \t]{{1,40}})?(?P<s>[A-Za-z0-9+/]{{40,90}}={{0,2}})(?=\s|$)",
            line=r"(?m:^)[ \t]*$",
            examples=(f"KeyName Value\n------- -----\n{anchor}    «<b86>==»", f"{anchor}\tFULL\t«<b86>==»"),
            others=(f"{anchor} the name", f"{anchor}\tFULL\t<uuid>"),
            accept=dense,
        )
        for anchor in ("key1", "key2", "primary", "secondary")
    ),
    *(
        form(
            "password",
            anchor,
            pattern=rf"{anchor}[ ]{{1,20}}: (?P<s>\S[^\r\n]{{7,62}})(?=\r?\n|$)",
            examples=(f"    {anchor}            : «<l5> <a10>»",),
            others=(f"{anchor} : $KEY", f"the {anchor}: what it holds"),
            accept=given,
        )
        for anchor in ("key content", "sselinhalt")
    ),
)

PRINTED: tuple[Form, ...] = (*_COMMANDS, *_TABLES)
