"""Secrets that their own form gives away without a beginning of letters, as a table: hashes of passwords, keys with signs."""

from __future__ import annotations

import re
from itertools import pairwise

from autocompact.core.redaction.building import dense, form, given
from autocompact.core.redaction.rules import Form
from autocompact.core.redaction.values import random_looking


def are_bytes(value: str) -> bool:
    """True for numbers of bytes in no order."""
    numbers = [
        int(each, 16) if each[:2] in ("0x", "0X") else int(each) if each.isdecimal() else -1
        for each in _NUMBER.findall(value)
    ]
    changes = {after - before for before, after in pairwise(numbers)}
    return (
        max(numbers) > 99
        and max(numbers) < 256
        and min(numbers) >= 0
        and len(set(numbers)) > 8
        and len(changes) > 6
    )


_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|\w+")
_MATERIAL = r"[A-Za-z0-9+/]{24,}(?:(?:\r?\n|\\n)[ \t]{0,20}[A-Za-z0-9+/]{16,})*(?:(?:\r?\n|\\n)[ \t]{0,20}[A-Za-z0-9+/]{1,15}(?![\w.]))?={0,2}"
_DER = (
    # PKCS #12, version 3 (RFC 7292): 30 82 .. .. 02 01 03 30 82
    ("ibazcc", 7, "MII[A-Za-z0-9+/]{2}[AQgw]IBAzCC", "APPLE_P12=«MIIKsgIBAzCC<b64>\n<b64>\n<b40>==»"),
    # PKCS #8 (RFC 5208): 02 01 00 30 0D, the number of RSA encryption
    (
        "ibadanbgkqhki",
        7,
        "MII[A-Za-z0-9+/]{2}[AQgw]IBADANBgkqhki",
        "$ base64 key.der\n«MIIEvQIBADANBgkqhkiG9w0BAQEFAASC<b64>\n<b64>\n<b40>==»",
    ),
    # PKCS #1 (RFC 8017): 02 01 00 02 82, version and modulus
    ("ibaakca", 7, "MII[A-Za-z0-9+/]{2}[AQgw]IBAAKCA", "der = «MIIEowIBAAKCAQEA<b64>\n<b64>\n<b40>==»"),
    # SEC 1 (RFC 5915) and PKCS #8 of an elliptic curve
    ("mhccaqee", 0, "MHcCAQEE", "EC_KEY_BASE64=«MHcCAQEE<b64><b64>==»"),
    (
        "ageambmgbyqgsm49",
        4,
        "MI[A-Za-z0-9+/]{3}AgEAMBMGByqGSM49|MI[GH][A-Za-z0-9+/]AgEAMBMGByqGSM49",
        "«MIGHAgEAMBMGByqGSM49<b64><b64>==»",
    ),
    # a Java keystore: FE ED FE ED 00 00 00 02
    ("/u3+7qaaaa", 0, "/u3\\+7QAAAA", "ANDROID_KEYSTORE_BASE64=«/u3+7QAAAA<b64><b64>==»"),
)
"""How private keys in binary form begin in base64."""

SHAPES: tuple[Form, ...] = (
    *(
        form(
            "AWS session token",
            start.lower(),
            pattern=rf"(?P<s>{start}[A-Za-z0-9+/]{{40,}}={{0,2}})",
            examples=(f"aws_session_token: «{start}+/<b200>»",),
            others=(start,),
        )
        # A sign soon after the beginning hides it from the search for runs of letters.
        for start in ("IQoJb3JpZ2lu", "FwoGZXIvYXdz", "FQoGZXIvYXdz")
    ),
    form(
        "Telegram token",
        ":aa",
        pattern=r"(?<![\w])(?:bot)?(?P<s>\d{8,10}:AA[\w-]{32,34})(?![\w-])",
        examples=("<d10>:AA<w33>", "https://api.telegram.org/bot«<d10>:AA<w33>»/getMe"),
        others=("12345678:AA", "at 12:AAbc"),
        back=14,
    ),
    form(
        "Canvas token",
        "~",
        pattern=r"(?<![\w~.-])(?P<s>\d{1,6}~[A-Za-z0-9]{64})(?![\w~])",
        examples=("<d4>~<a64>",),
        others=("9984~short", "~/src"),
        back=6,
    ),
    form(
        "token",
        "apitoken=",
        pattern=r"apitoken=[\w.@-]{1,60}![\w.-]{1,60}=(?P<s>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})",
        examples=("Authorization: PVEAPIToken=root@pam!ci=«<h8>-<h4>-<h4>-<h4>-<h12>»",),
        others=("PVEAPIToken=root@pam!ci=$UUID",),
    ),
    form(
        "Firebase key",
        ":apa91b",
        pattern=r"(?<![\w-])(?P<s>[\w-]{8,30}:APA91b[\w-]{60,200})(?![\w-])",
        examples=("AAAA<w7>:APA91b<w134>",),
        others=("AAAA:APA91bshort",),
        back=32,
    ),
    form(
        "New Relic key",
        "nral",
        pattern=r"(?<![A-Za-z0-9])(?P<s>(?:[0-9a-f]{36}|[a-z]{2}\d{2}xx[0-9a-f]{30})NRAL)(?![A-Za-z0-9])",
        examples=("<h36>NRAL", "eu01xx<h30>NRAL"),
        others=("the NRAL keys", "mineral"),
        back=40,
    ),
    form(
        "Azure secret",
        "q~",
        pattern=r"(?<![\w~.-])(?P<s>[\w~.-]{3}\dQ~[\w~.-]{31,34})(?![\w~-])",
        examples=("<a3>8Q~<a34>",),
        back=4,
    ),
    form(
        "PayPal token",
        "access_token$",
        pattern=r"(?P<s>access_token\$(?:production|sandbox)\$[a-z0-9]{8,}\$[a-f0-9]{32})",
        examples=("access_token$production$<l16>$<h32>",),
    ),
    form(
        "Asana token",
        "/1",
        pattern=r"(?<![\w./])(?P<s>[12]/\d{15,17}(?:/\d{15,17})?:[a-f0-9]{32})(?!\w)",
        examples=("1/1<d15>:<h32>", "2/1<d15>/1<d15>:<h32>"),
        back=1,
    ),
    form(
        "password hash",
        "$",
        pattern=r"(?<![\w$])(?P<s>\$(?:2[abxy]\$\d\d\$[./A-Za-z0-9]{50,53}|(?:1|5|6|apr1)\$(?:rounds=\d+\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{20,86}"
        r"|(?:y|7|gy)\$[./A-Za-z0-9]+\$[./A-Za-z0-9]{8,}\$[./A-Za-z0-9]{40,}|argon2(?:id|i|d)\$v=\d+\$[\w=,]+\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]{20,}"
        r"|(?:pbkdf2-sha\d+|scrypt)\$[\w=,]+\$[./A-Za-z0-9+]+\$[./A-Za-z0-9+]{20,}))",
        examples=(
            "root:«$6$<a16>$<a86>»:19000:0:99999:7:::",
            "admin:«$2y$10$<a53>»",
            "alice:«$apr1$<a8>$<a22>»",
            "bob:«$y$j9T$<a22>$<a43>»:19500:0:99999:7:::",
            "$argon2id$v=19$m=65536,t=3,p=4$<a22>$<a43>",
        ),
        others=("$2 and $6$ are prefixes", "echo $1$2"),
    ),
    form(
        "password hash",
        "sha}",
        pattern=r"(?:(?<=\{)|(?<=\{S))SHA\}(?P<s>[A-Za-z0-9+/]{27,}={0,2})",
        examples=("admin:{SHA}«<a27>=»", "userPassword: {SSHA}«<a32>»"),
    ),
    form(
        "password",
        ":5432:",
        pattern=r":5432:[\w*-]+:[\w*.@-]+:(?P<s>[^\s\"'`]{3,200})",
        examples=("db.internal:5432:app:svc:«<a14>»",),
        accept=given,
    ),
    form(
        "AWS key",
        "akia",
        pattern=r"(?:AKIA|ASIA)[A-Z0-9]{16}[\"']?[\s,;:|/]{1,4}[\"']?(?P<s>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        examples=("ci-user,AKIAIOSFODNN7EXAMPLE,«<b40>»",),
        accept=dense,
    ),
    form(
        "private key",
        '"kty"',
        pattern=r"\"kty\"[^{}]{0,4000}?\"(?:d|k)\\?\"\s*:\s*\\?\"(?P<s>[\w-]{16,})",
        examples=('{"kty":"EC","crv":"P-256","x":"abc","d":"«<w43>»"}',),
        ahead=5000,
    ),
    *(
        form(
            "private key",
            f'"{member}"',
            pattern=rf"\"{member}\"\s{{0,4}}:\s{{0,4}}\"(?P<s>[\w-]{{40,}})\"",
            examples=(f'{{\n  "{member}": "«<w86>»"\n}}',),
            others=(f'"{member}": "the-name-of-some-thing"', f'"{member}": 12'),
            accept=random_looking,
        )
        for member in ("p", "q", "dp", "dq", "qi")
    ),
    *(
        form(
            "private key",
            anchor,
            pattern=rf"(?-i:(?<![A-Za-z0-9+/])(?P<s>{begin}{_MATERIAL}))",
            examples=(example,),
            others=(begin[:4], anchor),
            back=back,
            ahead=24_000,
        )
        for anchor, back, begin, example in _DER
    ),
    form(
        "password hash",
        "pbkdf2",
        pattern=r"(?P<s>pbkdf2[_:-]sha\d{1,3}[$:]\d{3,9}\$[\w./+-]{4,64}\$[A-Za-z0-9+/]{27,128}={0,2})",
        examples=("«pbkdf2_sha256$600000$<a22>$<b43>=»", "«pbkdf2:sha256:260000$<a16>$<h64>»"),
        others=("pbkdf2_sha256 is the default",),
    ),
    form(
        "password hash",
        "scrypt:",
        pattern=r"(?P<s>scrypt:\d{3,9}:\d{1,3}:\d{1,3}\$[\w./+-]{4,64}\$[A-Za-z0-9+/]{27,200}={0,2})",
        examples=("«scrypt:32768:8:1$<a16>$<h128>»",),
        others=("scrypt:32768:8:1",),
    ),
    form(
        "password hash",
        "scram-sha-",
        pattern=r"(?P<s>scram-sha-\d{1,3}\$\d{3,7}:[A-Za-z0-9+/]{16,64}={0,2}\$[A-Za-z0-9+/=:]{40,200})",
        examples=("«SCRAM-SHA-256$4096:<b22>==$<b43>=:<b43>=»",),
        others=("SCRAM-SHA-256 is required",),
    ),
    form(
        "password hash",
        "md5",
        pattern=r"(?P<s>md5[0-9a-f]{32})(?=\")",
        line=r"\"[\w.@-]{1,60}\"[ ]\"$",
        examples=('"app" "«md5<h32>»"',),
        others=('"checksum": "md5' + "9f86d081884c7d659a2feaa0c55ad015" + '"',),
    ),
    form(
        "password hash",
        ":::",
        pattern=r":::",
        line=r"[\w.$\\ -]{1,80}:\d{1,10}:(?P<s>[0-9a-fA-F]{32}:[0-9a-fA-F]{32})$",
        examples=(r"ACME\bob:1103:«<h32>:<h32>»:::",),
        others=("a:::", "x:1:2:::"),
    ),
    form(
        "wallet key",
        "0x",
        pattern=r"(?P<s>0x[0-9a-f]{64})(?![0-9a-f])",
        line=r"(?i:(?:wallet|private|account|signer|secret|mnemonic)\w{0,20}[\"']?(?:\(|[ ]?[:=]|[ ]is|[ ]--?[\w-]{1,20})[ \[]{0,3}[\"']?)$",
        examples=(
            "new ethers.Wallet('«0x<h64>', provider)".replace("',", "»',"),
            'accounts: ["«0x<h64>»"],',
            "privateKeyToAccount('«0x<h64>')".replace("')", "»')"),
        ),
        others=(
            "tx 0x" + "4e3a3754410177e6937ef1f84bba68ea" * 2,
            "block hash: 0x" + "4e3a3754410177e6937ef1f84bba68ea" * 2,
        ),
    ),
    form(
        "wallet key",
        "xprv",
        pattern=r"(?<!\w)(?P<s>[xyzt]prv[1-9A-HJ-NP-Za-km-z]{100,112})(?!\w)",
        back=1,
        examples=(
            "xprv9<a104>".replace(
                "<a104>",
                "s21ZrQH143K3"
                + "QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi",
            ),
        ),
        others=("xprv is a prefix",),
    ),
    form(
        "API token",
        "dg9roj",
        pattern=r"(?<![A-Za-z0-9+/])(?P<s>(?-i:dG9rOj)[A-Za-z0-9+/]{30,120}={0,2})",
        examples=("dG9rOjFuz<b60>",),
        others=("dG9rOj is base64 of tok:",),
    ),
    form(
        "Bitcoin key",
        "wif",
        pattern=r"wif[\"']?(?:[ ]?[:=]|[ ]is)?[ ]?[\"'`]?(?P<s>[5KLc9][1-9A-HJ-NP-Za-km-z]{50,51})(?!\w)",
        examples=("wif: «LwJWydaHwFcG6QkS5KpXg9dhfPfWjRBMWrTpuUuSXKwd7WgyM2tX»",),
        others=("wif: wallet import format",),
    ),
    *(
        form(
            "secret value",
            anchor,
            pattern=rf"{anchor}\w{{0,20}}(?:[\"']|\[\w{{0,20}}\])?\s{{0,3}}(?::[^\n=\[{{(]{{0,30}})?[:=]\s{{0,3}}[^\n\[{{(=]{{0,40}}(?:\w{{2,20}}\()?(?P<s>[\[{{(]\s*(?:0x)?[0-9a-f]{{1,3}}(?:,\s*(?:0x)?[0-9a-f]{{1,3}}){{15,127}},?\s*[\]}})])",
            line=r"(?i:(?<!public)(?<!public_)(?<!pub_))$",
            examples=(
                f"network_{anchor}: «[114, 27, 203, 8, 91, 166, 44, 239, 12, 180, 77, 3, 158, 221, 65, 130]»",
                f"const {anchor} = Uint8Array.from(«[114, 27, 203, 8, 91, 166, 44, 239, 12, 180, 77, 3, 158, 221, 65, 130]»)",
                f"static const uint8_t {anchor}_1[16] = «{{0x1f, 0x2a, 0x9c, 0x04, 0x77, 0x10, 0xfe, 0x81, 0x3b, 0x2d, 0x99, 0x0a, 0xc4, 0x61, 0x5e, 0x02}}»;",
            ),
            others=(
                f"{anchor}s = [1, 2, 3]",
                f"{anchor}_counts: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]",
                f"{anchor}_order = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]",
                f"public_{anchor}: [114, 27, 203, 8, 91, 166, 44, 239, 12, 180, 77, 3, 158, 221, 65, 130]",
            ),
            accept=are_bytes,
        )
        for anchor in ("key", "secret", "seed")
    ),
)
