"""Keys and passwords in the forms of single services and tools: their hooks, tables, cookies and files, as a table."""

from __future__ import annotations

import re

from autocompact.core.redaction.building import VALUE, dense, form, given
from autocompact.core.redaction.rules import Form
from autocompact.core.redaction.shapes import are_bytes
from autocompact.core.redaction.values import entropy, is_placeholder, is_strong, mixed, random_looking
from autocompact.core.redaction.words import JOINING

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_SLASH = r"(?:\\{0,3}/|%2F)"


def _cookie(value: str) -> bool:
    return mixed(value) and random_looking(value) and not is_placeholder(value)


def _groups(value: str) -> bool:
    """True for four groups of letters that join no sentence."""
    return JOINING.isdisjoint(value.split()) and len(set(value.split())) == 4


def _folded(value: str) -> bool:
    return mixed(value) and value not in (value.lower(), value.upper()) and entropy(value) >= 3.5


_HOOKS = (
    form(
        "webhook key",
        "/send?key=",
        pattern=rf"/send\?key=(?P<s>{_UUID})",
        line=r"(?i:webhook)$",
        examples=("https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=«<h8>-<h4>-<h4>-<h4>-<h12>»",),
        others=("https://acme.dev/webhook/send?key=order-created",),
    ),
    form(
        "webhook key",
        "?key=",
        pattern=r"\?key=(?P<s>[\w-]{8,60})(?![\w-])",
        line=r"/deploy/[\w-]{6,60}$",
        examples=("https://api.render.com/deploy/srv-c<l19>?key=«Ru4Df-_YG7i»",),
        others=("https://acme.dev/deploy/web-frontend?key=$KEY", "https://acme.dev/deploy?key=name"),
    ),
    *(
        form(
            "webhook key",
            anchor,
            pattern=rf"{anchor}{_SLASH}(?:[\w-]{{1,60}}{_SLASH})?(?P<s>[0-9A-Za-z]{{10,64}}|{_UUID})(?![\w-])",
            line=r"(?i:[a-z.]{1,40}/(?:[\w.-]{1,40}/){0,4})$",
            examples=(f"curl -X POST https://api.acme.com/v1/{anchor}/«<h24>»",),
            others=(f"https://acme.dev/{anchor}/overview", f"POST /{anchor}/:id"),
            accept=lambda value: mixed(value) and not is_placeholder(value),
        )
        for anchor in ("build_hooks", "deploy_hooks", "integrations/deploy")
    ),
)

_KEYS = (
    form(
        "API key",
        "key_",
        pattern=r"(?<![\w.:/-])(?P<s>key_[0-9a-f]{32,64})(?!\w)",
        back=1,
        examples=("CURSOR_API_KEY=«key_<h64>» agent", "the key is «key_<h32>»"),
        others=("cache_key_<h32>", "users:key_<h32>", "key_deadbeef"),
        accept=lambda value: mixed(value[4:]),
    ),
    form(
        "Backblaze key",
        "k00",
        pattern=r"(?<![\w+/=])(?-i:(?P<s>K00\d[A-Za-z0-9+/]{27}))(?![\w+/=])",
        back=1,
        examples=("b2 account authorize 00<h23> «K00<d1><a20>/<a6>»",),
        others=("K001 is the first of all", f"K00{'A' * 28}"),
        accept=_folded,
    ),
    form(
        "session",
        "bw_session",
        pattern=r"bw_session[\"']?[ ]?[=:][ ]?[\"']?(?P<s>[A-Za-z0-9+/]{40,120}={0,2})",
        examples=('$ export BW_SESSION="«<b86>==»"',),
        others=('export BW_SESSION="$(bw unlock --raw)"',),
    ),
    form(
        "session",
        " --session ",
        pattern=r" --session [\"']?(?P<s>[A-Za-z0-9+/]{60,120}={0,2})",
        line=r"(?<!\w)bw[ ][^\n|;&]*$",
        examples=("bw list items --session «<b86>==»",),
        others=("bw list items --session $BW_SESSION", "tmux --session work"),
    ),
    *(
        form(
            "API key",
            anchor,
            pattern=rf"{re.escape(anchor)}\s{{0,20}}(?:api_?key[ ]?[=:][ ]?)?[\"'](?P<s>[A-Za-z0-9][\w-]{{19,200}}={{0,2}})[\"']\s{{0,10}}[,)]",
            examples=(f'x = acme.{anchor}"«<a40>»")',),
            others=(f'{anchor}"the-name-of-some-index-of-the-team-2")', f'{anchor}"<h40>")'),
            accept=is_strong,
        )
        for anchor in ("client(", "clientv2(", "asyncclient(", "asyncclientv2(")
    ),
    form(
        "API key",
        "octokit(",
        pattern=r"octokit\(\s{0,8}\{[^{}\n]{0,80}?auth:\s{0,4}[\"'](?P<s>[\w-]{20,200}={0,2})[\"']",
        examples=("new Octokit({ auth: '«<h40>»' })",),
        others=("new Octokit({ auth: 'the-name-of-a-variable' })",),
        accept=mixed,
    ),
    form(
        "API key",
        "<apikeys>",
        pattern=r"<apikeys>\s{0,40}<add key=\"[^\"\n]{1,200}\" value=\"(?P<s>[^\"\n]{16,2000})\"",
        examples=('<apikeys>\n  <add key="https://nuget.acme.dev" value="«<b60>»" />',),
        others=('<apikeys><add key="x" value="%KEY_OF_NUGET_FEED%" />',),
        accept=given,
    ),
    form(
        "encryption key",
        "secretkeyspec(",
        pattern=r"secretkeyspec\(\s{0,8}\"(?P<s>[^\"\n]{16,64})\"",
        examples=('new SecretKeySpec("«<a32>".getBytes(), "AES")'.replace('".g', '»".g'),),
        others=('new SecretKeySpec(key.getBytes(), "AES")',),
        accept=given,
    ),
    form(
        "secret value",
        "recaptcha(",
        pattern=r"recaptcha\([ ]?[\"'](?P<s>6L[\w-]{38})[\"']",
        examples=("new \\ReCaptcha\\ReCaptcha('«6L<w38>»');",),
        others=("grecaptcha('6Lshort')",),
    ),
    form(
        "API key",
        "snyk ",
        pattern=rf"snyk (?:config set api=|auth )[\"']?(?P<s>{_UUID})",
        examples=("snyk config set api=«<h8>-<h4>-<h4>-<h4>-<h12>»", "snyk auth «<h8>-<h4>-<h4>-<h4>-<h12>»"),
        others=("snyk config set api=$SNYK_TOKEN", "snyk auth"),
    ),
    form(
        "password",
        "bundle_",
        pattern=r"bundle_\w{1,80}__\w{1,80}[\"']?(?:=|:[ ])[\"']?(?P<s>[0-9a-f]{8,40}:[0-9a-f]{8,40})(?!\w)",
        examples=('BUNDLE_GEMS__ACME__COM: "«<h8>:<h8>»"',),
        others=("BUNDLE_WITHOUT: development:test", 'BUNDLE_MIRROR__X: "a:b"'),
    ),
    form(
        "encryption key",
        "'crypt'",
        pattern=r"'crypt'\s{0,4}=>\s{0,4}(?:\[|array\s?\()\s{0,20}'key'\s{0,4}=>\s{0,4}'(?P<s>[^'\n]{16,200})'",
        examples=("'crypt' => ['key' => '«<h32>'],".replace("'],", "»'],"),),
        others=("'crypt' => ['key' => ''],", "'crypt' => ['key' => getenv('CRYPT_KEY_OF_SHOP')],"),
        accept=given,
    ),
    *(
        form(
            "storage key",
            anchor,
            pattern=rf"{anchor}[ \t]{{1,40}}(?:FULL|READ\w*)[ \t]{{1,40}}(?P<s>[A-Za-z0-9+/]{{80,90}}={{0,2}})",
            line=r"(?m:^)[\w:.+-]{4,40}[ \t]+$",
            examples=(f"2025-02-11T08:03:44.120482+00:00  {anchor}       FULL           «<b86>==»",),
            others=(f"2025-02-11  {anchor}  FULL  hidden",),
        )
        for anchor in ("key1", "key2")
    ),
)

_BYTES = r"\[\s{0,8}\d{1,3}(?:\s{0,8},\s{0,8}\d{1,3}){31,63}\s{0,8}\]"
_WALLETS = tuple(
    form(
        "private key",
        anchor,
        pattern=rf"{anchor}[^\n\[]{{0,80}}\r?\n?[^\n\[]{{0,80}}(?P<s>{_BYTES})",
        examples=(f"$ cat ~/x/{anchor}\n«[{', '.join(str((7 + 37 * i * i) % 251) for i in range(64))}]»",),
        others=(f"{anchor}: [1, 2, 3]", f"{anchor} [{', '.join(['0'] * 64)}]"),
        accept=are_bytes,
    )
    for anchor in ("id.json", "keypair", "wallet", "solana", "keygen")
)

_PASSWORDS = (
    form(
        "password",
        "insecure-password ",
        pattern=rf"insecure-password[ \t]{{1,8}}{VALUE}",
        examples=("userlist ops\n  user admin insecure-password «Flieder-Tor»\n",),
        others=("user admin insecure-password $PASS",),
        accept=given,
    ),
    form(
        "password",
        "rootpw ",
        pattern=rf"rootpw[ ]{{1,4}}(?:--plaintext[ ]{{1,4}}){VALUE}",
        examples=("rootpw --plaintext «Koehler.77»\n",),
        others=("rootpw --plaintext $ROOTPW", "rootpw --lock"),
        accept=given,
    ),
    *(
        form(
            "password",
            anchor,
            pattern=rf"{anchor}\"?\r?\n[ \t]{{0,8}}2\)[ ]\"(?P<s>[^\"\n]{{3,200}})\"",
            examples=(f'> CONFIG GET {anchor}\n1) "{anchor}"\n2) "«Ammer-Flug-3»"',),
            others=(f'> CONFIG GET {anchor}\n1) "{anchor}"\n2) ""',),
        )
        for anchor in ("requirepass", "masterauth")
    ),
    form(
        "password",
        "new value:",
        pattern=r"passw[^\n]{0,120}reset[^\n]{0,40}\r?\n[ \t]{0,8}new value:[ ]{0,4}(?P<s>[^\s\"']{6,100})",
        back=240,
        examples=("Password for the [elastic] user successfully reset.\nNew value: «3YjCnd6V*kQMNv2*»",),
        others=("The field was reset.\nNew value: 3YjCnd6V", "New value: 12"),
        accept=given,
    ),
    *(
        form(
            "password",
            anchor,
            pattern=rf"{anchor}(?:s|[ ]for[^\n:]{{0,60}}|[ ](?:is|ist|lautet))?[ ]?[:\n][ \t\n]{{0,8}}[\"'`]?(?P<s>[a-z]{{4}}(?:[ ][a-z]{{4}}){{3}})(?=[\"'`]?[.]?(?:\r?\n|$))",
            examples=(
                f"Your {anchor} for your device\n«uqxb jqon ofay cysb»",
                f"{anchor}: «uqxb jqon ofay cysb»",
            ),
            others=(f"{anchor}:\nthat will work here", f"{anchor}: see the help page"),
            accept=_groups,
        )
        for anchor in ("app password", "app-passwort", "app passwort")
    ),
    *(
        form(
            "password",
            anchor,
            pattern=rf"{re.escape(anchor)}(?P<s>[^\"\n]{{4,100}})\"(?=[ \t]*(?:\*|-|\d[\d.]*|\r?\n|$))",
            line=r"(?m:^)[ \t]*\"[\w.@+-]{1,80}$",
            examples=(f'# Secrets for authentication\n"bob@isp{anchor}«Qk28skw1» *'.replace("»", '»"'),),
            others=(f'"2{anchor}$PASS" *',),
            accept=given,
        )
        for anchor in ('" * "', '"\t*\t"')
    ),
    form(
        "password",
        '* "',
        pattern=r"\* \"(?P<s>[^\"\n]{4,100})\"(?=[ \t]+(?:\*|-|\d[\d.]*)[ \t]*(?:\r?\n|$))",
        line=r"(?m:^)[ \t]*[\w.@+-]{1,80}[ \t]+$",
        examples=('# client server secret IP\nbob * "«Tanne99x» *'.replace("»", '»"'),),
        others=('text * "two words" here', 'bob * "$PASS" *'),
        accept=given,
    ),
    *(
        form(
            "password",
            anchor,
            pattern=rf"{anchor}[^\n]{{0,80}}\r?\n(?:[ \t]*#[^\n]*\n){{0,5}}[ \t]*[\"']?[\w.@+-]{{1,80}}[\"']?[ \t]+\S{{1,40}}[ \t]+{VALUE}(?=[ \t]+(?:\*|-|\d[\d.]*)|[ \t]*(?:\r?\n|$))",
            examples=(f"# /etc/ppp/{anchor}\nbob * «Tanne99x» *",),
            others=(f"vi /etc/ppp/{anchor}\nand then restart it", f"{anchor}\nbob * $PASS *"),
            accept=lambda value: given(value) and mixed(value),
        )
        for anchor in ("chap-secrets", "pap-secrets")
    ),
    form(
        "password",
        "password ",
        pattern=rf"(?m:^)[ \t]*(?:user|login|account|host|from|auth|port|tls)[ \t]+\S{{1,100}}\r?\n(?:[ \t]*[a-z_]{{2,30}}[ \t]+\S{{1,100}}\r?\n){{0,4}}[ \t]*password[ ]{{1,8}}{VALUE}(?=[ \t]*(?:\r?\n|$))",
        back=200,
        examples=("account acme\nhost h\nuser bob\npassword «Lampe.Wind»\n",),
        others=(
            "user bob\npassword $PASS\n",
            "the user says\npassword required\n",
            "user bob\npassword required\n",
        ),
        accept=given,
    ),
    form(
        "password",
        " -u ",
        pattern=r"[ ](?-i:-U)[ ][\"']?[\w.\\/@-]{1,60}%(?P<s>[^\s\"'|;&<>$]{4,100})",
        line=r"(?<![\w.-])(?:net|smb\w+|winexe|wmic|rpcclient|nmblookup|samba-tool|ntlm_auth)(?:[ ]|$)[^\n|;&]*$",
        examples=(
            "net ads join -U Administrator%«Dorsch+Aal7»",
            "winexe -U 'ACME\\bob%«<a10>' //h cmd".replace("' //", "»' //"),
        ),
        others=("net ads join -U Administrator%$PASS", "date -u +%Y-%m-%d"),
        accept=given,
    ),
    form(
        "password",
        "%5d=",
        pattern=r"%5d=(?P<s>[^\s&\"'`<>;,]{4,400})",
        line=r"(?i:passw(?:or)?d|passphrase|pwd|passw(?:or)?d_confirmation|secret|pin|api_key|token)$",
        examples=("user%5Bemail%5D=a%40acme.io&user%5Bpassword%5D=«Karpfen%2124»&commit=Log+in",),
        others=("user%5Bpassword%5D=&x=1", "user%5Bpassword%5D=%5BFILTERED%5D", "filter%5Bname%5D=Karpfen24"),
        accept=lambda value: given(value) and not value.lower().startswith(("%5b", "%24", "%3c", "%7b")),
    ),
)

_PARTS = tuple(
    form(
        kind,
        anchor,
        pattern=rf"{anchor}[\w.\[\]-]{{0,40}}?(?:{name})\]?\"\s{{0,4}}?(?:\r?\n[\w-]{{1,40}}:[^\n]{{0,100}}){{0,3}}\r?\n\r?\n(?P<s>[^\s]{{5,4000}})[ \t]*(?=\r?\n|$)",
        line=r"(?i:form-data;[ ]?)$",
        examples=(f'Content-Disposition: form-data; name="{said}"\r\n\r\n«{value}»\r\n--x',),
        others=(
            f'Content-Disposition: form-data; name="{said}"\n\n$PASS\n--x',
            'form-data; name="file"\n\n<a12>\n',
        ),
        accept=given,
    )
    for anchor in ('name="',)
    for kind, name, said, value in (
        (
            "password",
            r"pass(?:word|wd|phrase|code)?(?:_?confirmation|_?again|2)?|pwd?|passwort|kennwort|contrase[ñn]a|senha",
            "user[password]",
            "moonlight9",
        ),
        (
            "secret value",
            r"\w{0,30}(?:secret|token|api_?key|secret_?key|access_?key|private_?key)",
            "api_key",
            "<a32>",
        ),
    )
)
"""The fields of a form as browsers send it."""

_SESSIONS = (
    *(
        form(
            "cookie",
            f"\t{flag}\t/",
            pattern=rf"\t{flag}\t/[^\t\n]{{0,80}}\t(?:TRUE|FALSE)\t\d{{1,16}}\t(?!_g|__utm|_fbp)[^\t\n]{{1,100}}\t(?P<s>[^\s]{{12,4000}})",
            examples=(
                f"# Netscape HTTP Cookie File\n#HttpOnly_.acme.io\t{flag.upper()}\t/\tTRUE\t1790000000\tsid\t«<h40>»",
            ),
            others=(
                f".acme.io\t{flag.upper()}\t/\tFALSE\t0\tlang\tde-DE-and-others",
                f".acme.io\t{flag.upper()}\t/\tFALSE\t0\t_ga\tGA1.2.1234567890.1234567890",
            ),
            accept=_cookie,
        )
        for flag in ("true", "false")
    ),
    form(
        "cookie",
        "wordpress_",
        pattern=r"wordpress_(?:(?:logged_in|sec)_)?[0-9a-f]{32}[\"']?(?:[ ]?[=:][ ]?|\t)[\"']?(?P<s>[^\s;\"',]{20,400})",
        examples=("wordpress_logged_in_<h32>=«admin%7C1767000000%7C<a43>%7C<h64>»",),
        others=("wordpress_test_cookie=WP+Cookie+check",),
        accept=dense,
    ),
    form(
        "SAML response",
        "samlresponse",
        pattern=r"samlresponse[\"']?(?:[ ]?[=:][ ]?|%3D|[ ]value=)[\"']?(?P<s>(?:[A-Za-z0-9+/]|%2[BbFf]){60,}(?:=|%3D){0,2})",
        ahead=60_000,
        examples=(
            "SAMLResponse=«PHNhbWxw<b120>%2B<a20>%3D%3D»&RelayState=x",
            '<input name="SAMLResponse" value="«PHNhbWxw<b120>»"/>',
        ),
        others=("SAMLResponse=required", "samlResponse: the base64 of the assertion"),
    ),
    form(
        "password hash",
        "$$",
        pattern=r"(?<![\w$])(?P<s>\$\$(?:2[abxy]\$\$\d\d\$\$[./A-Za-z0-9]{50,53}|(?:1|5|6|apr1)\$\$(?:rounds=\d{1,9}\$\$)?[./A-Za-z0-9]{1,16}\$\$[./A-Za-z0-9]{20,86}))",
        examples=(
            '- "traefik.http.middlewares.a.basicauth.users=admin:«$$apr1$$<a8>$$<a22>»"',
            "bob:«$$2y$$10$$<a53>»",
        ),
        others=("echo $$", "$$apr1$$ is the prefix"),
    ),
)

VENDORS: tuple[Form, ...] = (*_HOOKS, *_KEYS, *_WALLETS, *_PASSWORDS, *_PARTS, *_SESSIONS)
