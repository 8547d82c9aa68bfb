"""Secrets that a program is given as an argument without a name of its own, or prints, as a table."""

from __future__ import annotations

from autocompact.core.redaction.building import VALUE, dense, form, given
from autocompact.core.redaction.rules import Form
from autocompact.core.redaction.values import Trust, is_password

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
        pattern=r"oathtool[^\n|;&]{0,60}?[ ]\"?(?P<s>[A-Z2-7]{16,64}=*|[0-9a-f]{20,64}|[A-Z2-7]{4}(?:[ ][A-Z2-7]{4}){3,12})\"?[ \t]*(?:[|\n;&)]|$)",
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
    form(
        "encryption key",
        "openssl ",
        pattern=r"openssl (?:enc|aes|des|chacha|dgst|mac)[^\n]{0,200}?[ ](?-i:-K|-macopt[ ](?:hex)?key:)[ ]?(?P<s>[0-9a-f]{16,128})(?![0-9a-f])",
        examples=("openssl enc -aes-256-cbc -K «<h64>» -iv <h32> -in a",),
        others=(
            "openssl enc -aes-256-cbc -K $KEY -in a",
            "openssl dgst -sha256 9f86d081884c7d659a2feaa0c55ad015",
        ),
    ),
    form(
        "key",
        "authorize",
        pattern=r"authorize[_-]account[ ]\"?\w{8,40}\"?[ ]\"?(?P<s>[A-Za-z0-9+/]{25,60})",
        examples=("b2 authorize-account 0012ab34cd56 «K<a30>»",),
        others=("b2 authorize-account $ID $KEY", "authorize_account reads the account of the environment"),
        accept=dense,
    ),
    form(
        "password",
        "assword",
        pattern=r"assword[^\n;]{0,60}[\n;][^\n]{0,40}?send(?:_user)?[ ]+(?:--[ ]+)?\"(?P<s>[^\"\\$\s]{4,64})\\[rn]\"",
        line=r"expect[^\n]{0,60}$",
        examples=(
            'expect "Password:"\nsend "«Sommer<l4>9!»\\r"',
            'expect -re "assword"\n    send -- "«<a12>»\\n"',
        ),
        others=('expect "Password:"\nsend "$pw\\r"', 'expect "ready"\nsend "start\\r"'),
        accept=given,
    ),
    form(
        "private key",
        "key-data",
        pattern=r"key-data(?:\\?[\"'])?[ \t]{0,3}:[ \t]{0,3}(?:\\?[\"'])?(?P<s>[A-Za-z0-9+/]{40,}={0,2})",
        line=r"(?:client|private|server|tls|ssh)-$",
        examples=("    client-key-data: «<b64>==»", '"client-key-data": "«<b64>==»"'),
        others=("client-certificate-data: <b64>==", "client-key-data: DATA+OMITTED"),
        accept=dense,
    ),
    form(
        "API key",
        '"username"',
        pattern=r"\"username\"[ ]?:[ ]?\"[^\"\n]{1,64}\",\s{0,12}\"key\"[ ]?:[ ]?\"(?P<s>[0-9a-f]{32,64})\"",
        examples=('{"username":"mila","key":"«<h32>»"}',),
        others=('{"username":"mila","key":"primary"}', '{"username":"mila","id":"<h32>"}'),
    ),
    form(
        "API key",
        ":fx",
        pattern=r"(?<![\w-])(?P<s>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:fx)(?![\w-])",
        back=36,
        ahead=4,
        examples=('Translator("«<h8>-<h4>-<h4>-<h4>-<h12>:fx»")',),
        others=("id <h8>-<h4>-<h4>-<h4>-<h12>: fx", "rate usd:fx"),
    ),
    form(
        "API key",
        "ably",
        pattern=r"ably[^\n]{0,80}?(?<![\w.-])(?P<s>[\w-]{6}\.[\w-]{6}:[\w-]{20,60})(?![\w-])",
        examples=("new Ably.Realtime('«<a6>.<a6>:<w38>»')", "ABLY_API_KEY=«<a6>.<a6>:<w38>»"),
        others=("probably abc123.def456:a", "ably.com/docs"),
        accept=dense,
    ),
    form(
        "API key",
        "honeycomb-team",
        pattern=r"honeycomb-team(?:[\"']?[ ]?[:=,][ ]?[\"']?)(?P<s>[A-Za-z0-9]{20,80})",
        examples=("OTEL_EXPORTER_OTLP_HEADERS=x-honeycomb-team=«<a22>»", '"x-honeycomb-team": "«<a32>»"'),
        others=("x-honeycomb-team=$HONEYCOMB_KEY", "x-honeycomb-team: your-key-here"),
        accept=dense,
    ),
    form(
        "token",
        "loggly.com/inputs/",
        pattern=r"loggly\.com/inputs/(?P<s>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})",
        examples=("https://logs-01.loggly.com/inputs/«<h8>-<h4>-<h4>-<h4>-<h12>»/tag/http/",),
        others=("https://logs-01.loggly.com/inputs/TOKEN/tag/http/",),
    ),
    *(
        form(
            "password",
            anchor,
            pattern=rf"{anchor.replace('.', '[.]')}(?:\\?[\"'])?[ \t]{{0,3}}[:=,][ \t]{{0,3}}(?:\\?[\"'])?(?P<s>[\w-]{{1,40}}:[^\s\"'\\]{{8,80}})",
            examples=(f"{anchor}: «elastic:<a24>»", f"{anchor} = '«elastic:<a24>»'"),
            others=(f"{anchor}: $USER:$PASSWORD", f"{anchor}: user:password"),
            accept=lambda value: is_password(value.partition(":")[2], Trust.LITERAL),
        )
        for anchor in ("cloud_auth", "cloud.auth")
    ),
)
