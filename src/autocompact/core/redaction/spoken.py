"""Secrets that are told with a user, a network or an answer, or that a protocol passes, as a table."""

from __future__ import annotations

from hashlib import sha256

from autocompact.core.redaction.building import form, given, stated
from autocompact.core.redaction.rules import Form
from autocompact.core.redaction.values import is_chosen, mixed, random_looking

_TICK = r"[\"'`“„«(]?"
_SECRET = r"(?P<s>[^\s\"'`<>/|(){}«»“”，。][^\s\"'`<>|(){}«»“”，。]{3,80}?)"
_STOP = r"(?=[\"'`«»“”,.;!)，。]{0,3}(?:\s|$))"
_USER = r"[A-Za-z][\w.@+-]{1,60}"
_IS = r"(?:[ ]?[:：]|[ ](?:is|ist|est|es|è|é|is now|ist jetzt|lautet|hei(?:ß|ss)t|=|будет)(?![a-z]))[ ]?"
_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def _is_wif(value: str) -> bool:
    """True for a private key of Bitcoin in its import format: base58 with the right checksum."""
    number = 0
    for character in value:
        digit = _ALPHABET.find(character)
        if digit < 0:  # patterns ignore case, and base58 leaves out O, I and l
            return False
        number = number * 58 + digit
    body = number.to_bytes(40, "big").lstrip(b"\0")
    return sha256(sha256(body[:-4]).digest()).digest()[:4] == body[-4:]


def _of_network(value: str) -> bool:
    """True for what a network is joined with: also words with hyphens, and digits."""
    return (
        stated(value)
        or is_chosen(value, beside=True)
        or (value.isdecimal() and len(value) >= 8)
        or _joined(value)
    )


def _joined(value: str) -> bool:
    """True for words with hyphens, three or one with a number."""
    parts = value.split("-")
    return (
        len(value) >= 8
        and all(map(str.isalnum, parts))
        and (len(parts) > 2 or (len(parts) > 1 and mixed(value)))
    )


def _answer(value: str) -> bool:
    """True for what is made up and stands for itself."""
    return given(value) and (is_chosen(value, beside=True) or (stated(value) and random_looking(value)))


SPOKEN: tuple[Form, ...] = (
    *(
        form(
            "password",
            anchor,
            pattern=rf"{anchor}{tail}(?:[ -]|の)?(?:key|code|schlüssel|passwort|kennwort|clé|clave|chiave|chave|ключ|пароль|[^\x00-\x7f]{{1,8}})(?:[ ](?!is |ist |est )[^\s.:;=!?,]{{1,20}}){{0,4}}?{_IS}{_TICK}{_SECRET}{_STOP}",
            examples=examples,
            others=(f"{examples[0].split('«')[0]}required", f"{anchor} key management is described there"),
            accept=_of_network,
        )
        for anchor, tail, examples in (
            (
                "wifi",
                "",
                (
                    "the wifi key is «maple-syrup-1867»",
                    "wifi code: «<l6>-<l5>-77»",
                    "the wifi key of the office is «12345670»",
                ),
            ),
            ("wi-fi", "", ("the Wi-Fi code is «<l6>-<l5>-77»", "Wi-Fiの暗号化キー：«<a13>»")),
            (
                "wlan",
                "",
                ("WLAN-Schlüssel vom Gästenetz ist «<l6>-im-<l5>»", "Der WLAN-Schlüssel lautet «<a12>»"),
            ),
        )
    ),
    *(
        form(
            "password",
            network,
            pattern=rf"{network}(?::|,?[ ](?:is|ist|lautet|est|c['’]est|es|è|é)(?![a-z]))[ ]?{_TICK}{_SECRET}{_STOP}",
            line=r"(?i:(?<!\w)(?:password|passwort|kennwort|schlüssel|mot de passe|mdp|clé|code|contraseña|clave|senha|chave|chiave|wachtwoord|hasło)(?: (?:d[eiou]l?|della|do|da|van|für|fürs|vom|of|for)(?: (?:das|the|het|la|il|le))?)? )$",
            examples=(
                f"password {network}: «trattoria-olmo-vespa»",
                f"mot de passe du {network}: «<l6>-<l5>-77»",
            ),
            others=(f"password {network}: obbligatoria", f"password {network}: $KEY"),
            accept=_of_network,
        )
        for network in ("wifi", "wi-fi", "wlan")
    ),
    *(
        form(
            "password",
            anchor,
            pattern=rf"{anchor}[ .]{{0,12}}:[ ]{{1,4}}(?P<s>\S[^\r\n]{{7,62}})(?=[ \t]*(?:\r?\n|$))",
            examples=(f"    {anchor}        : «Sp4tzenNest22»", f"{anchor} : «drei bunte Hunde»"),
            others=(f"{anchor}: nein", f"{anchor} : $KEY_OF_WIFI"),
            accept=given,
        )
        for anchor in ("schlüsselinhalt", "contenu de la clé", "contenido de la clave", "contenuto chiave")
    ),
    *(
        form(
            "password",
            anchor,
            pattern=rf"{anchor}[?]?[ \t]*\r?\n(?:\[[^\]\n]{{1,20}}\][ ])?(?:[\w.@ -]{{1,30}}:[ ])?{_TICK}(?P<s>[^\s\"'`„“«»]{{8,80}})[\"'`“»]?[ \t]*(?:\r?\n|$)",
            line=r"(?i:(?<!\w)(?:\w{0,20}[-_ ])?(?:pass(?:word|phrase|wort)?|pwd?|kennwort|mdp|mot de passe|contraseña|wachtwoord)(?!\w)[^\n?]{0,30})$",
            examples=(
                f"[09:14] tom: whats the db pw{anchor}\n[09:15] lea: «Gr4nitblock!»",
                f"the root password{anchor}\n«Lantern.Harbor27»",
            ),
            others=(f"reset the password{anchor}\nanna: see issue-24", f"the pw{anchor}\nThanks!"),
            accept=_answer,
        )
        for anchor in (" again", " nochmal", " noch mal", " encore", " please?", " bitte?")
    ),
    form(
        "PIN",
        "puk",
        pattern=r"puk(?:[ -]?(?:code|2))?(?:[ ](?:is|ist|est|es|è|lautet))?[ ]?[:=]?[ ]?[\"'`]?(?P<s>\d{8})(?!\w|[.,]\d)",
        line=r"(?:^|[^A-Za-z0-9])$",
        examples=("and PUK «35753098»", "PUK: «35753098»", "PUK-Code ist «35753098»"),
        others=("PUK 4", "the puk_id 12345678"),
    ),
    *(
        form(
            "wallet key",
            anchor,
            pattern=rf"{anchor}[^\n]{{0,80}}?(?<![1-9A-HJ-NP-Za-km-z])(?P<s>(?-i:[5KL9c])[1-9A-HJ-NP-Za-km-z]{{50,51}})(?![1-9A-HJ-NP-Za-km-z])",
            examples=(f"{anchor} «5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ»",),
            others=(f"{anchor} 5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTK",),
            accept=_is_wif,
        )
        for anchor in ("wallet", "bitcoin", "sweep")
    ),
    *(
        form(
            "wallet key",
            anchor,
            pattern=rf"{anchor}[^\n]{{0,60}}?(?:export|key|secret|keypair|import)[\w ]{{0,20}}[ ]?[:=]?[ ]?[\"'`]?(?P<s>[1-9A-HJ-NP-Za-km-z]{{86,88}})(?!\w)",
            examples=(
                f"{anchor} export: «4373hfFyEynPRAxzFds4MXrXgAiwBhHZLwCaRnXA4373hfFyEynPRAxzFds4MXrXgAiwBhHZLwCaRnXAabcdef»",
            ),
            others=(f"{anchor} transaction 4373hfFyEynPRAxzFds4MXrX",),
            accept=mixed,
        )
        for anchor in ("phantom", "solana", "solflare")
    ),
    form(
        "password",
        "pass ",
        pattern=r"(?:(?m:^)(?:\w{3,10}:[ \t])?[-<>CS: ]{0,6}331[ -][^\n]{0,200}\n|(?-i:USER) \S{1,80}\r?\n(?:[^\n]{0,200}\n)?)(?:\w{3,10}:[ \t])?[-<>CS: ]{0,6}(?-i:PASS) (?P<s>\S{3,100})(?=[ \t]*(?:\r?\n|$))",
        back=400,
        ahead=120,
        examples=(
            "USER web\n331 Password required for web\nPASS «Lantern.Harbor27»\n230 logged in",
            "Befehl:\tUSER web\nAntwort:\t331 Password required\nBefehl:\tPASS «Lantern.Harbor27»\n",
        ),
        others=("PASS src/app.test.ts", "PASS  tests 12"),
        accept=given,
    ),
    form(
        "password",
        "login ",
        pattern=r"(?-i:LOGIN) \"?[\w.@+-]{1,80}\"? (?:\"(?P<s>[^\"\r\n]{3,100})\"|(?P<t>\S{3,100}))(?=[ \t]*(?:\r?\n|$))",
        line=r"(?m:^)(?:[-<>=CS:* ]{0,6})[A-Za-z]{0,4}\d{1,6} $",
        examples=(
            'a1 LOGIN "bob@acme.dev" "«Rote*Bete!8»"',
            "A001 LOGIN bob «<a10>»",
            "C: a2 LOGIN bob «Sommerregen»",
        ),
        others=("a1 LOGIN failed", "a1 OK LOGIN completed"),
        accept=given,
    ),
    form(
        "password",
        "334 ugfzc3dvcmq6",
        pattern=r"334 UGFzc3dvcmQ6\r?\n[-<>CS: ]{0,6}(?P<s>[A-Za-z0-9+/]{4,400}={0,2})(?=[ \t]*(?:\r?\n|$))",
        examples=("AUTH LOGIN\n334 UGFzc3dvcmQ6\n«<b24>==»\n235 ok",),
        others=("334 UGFzc3dvcmQ6\n535 5.7.8 failed",),
    ),
    form(
        "password",
        "identify ",
        pattern=r"identify (?:[\w.-]{1,40} )?(?P<s>\S{4,80})(?=[ \t]*(?:\r?\n|$))",
        line=r"(?i:nickserv[ :]{1,3})$",
        examples=("/msg NickServ IDENTIFY «<l11>8»", "/msg nickserv identify bob «Sommerregen»"),
        others=("/msg NickServ IDENTIFY $PASS", "identify yourself"),
        accept=given,
    ),
    *(
        form(
            "password",
            f": {kind} ",
            pattern=rf": {kind}[ ]{{1,4}}\"(?P<s>[^\"\n]{{3,100}})\"",
            line=r"(?m:^)[^\n\"]{0,120}$",
            examples=(f'carol : {kind.upper()} "«4iChxB3ngel»"',),
            others=(f'carol : {kind.upper()} "$PASS"', f"see: {kind} is a method"),
            accept=given,
        )
        for kind in ("eap", "xauth", "ntlm")
    ),
    *(
        form(
            "signing key",
            anchor,
            pattern=rf"{anchor}\((?:\{{[^{{}}\n]{{0,300}}\}}|[^,\n(){{}}]{{1,80}}),[ ]?[\"'](?P<s>[^\"'\n]{{6,200}})[\"']",
            examples=(
                f"{anchor}({{ id: user.id }}, '«<l8>-<l5>-77»', {{ expiresIn: '7d' }})",
                f'{anchor}(payload, "«<a24>»")',
            ),
            others=(f"{anchor}(payload, process.env.SECRET)", f'{anchor}(payload, "${{SECRET}}")'),
            accept=given,
        )
        for anchor in ("jwt.sign", "jwt.verify", "jwt.encode", "jwt.decode")
    ),
    form(
        "registry password",
        "dockerconfigjson",
        pattern=r"dockerconfigjson[\"']?[ ]?[:=][ ]{0,4}[\"']?(?P<s>[A-Za-z0-9+/]{24,}={0,2})",
        examples=("data:\n  .dockerconfigjson: «eyJhdXRocyI6eyJn<b60>»",),
        others=(".dockerconfigjson: ${DOCKER_CONFIG}", "type: kubernetes.io/dockerconfigjson"),
    ),
    form(
        "API key",
        "login(",
        pattern=r"login\((?:(?:api_)?key|token)=\\{0,3}[\"'](?P<s>[\w-]{20,200})\\{0,3}[\"']",
        examples=(
            'wandb.login(key=\\"«<h40>\\"'.replace('\\"«<h40>', '\\"«<h40>»'),
            "hub.login(token='«<a32>»')",
        ),
        others=("login(key=settings.key)", 'login(key="name_of_a_setting_of_ours")'),
        accept=lambda value: mixed(value) and random_looking(value),
    ),
    form(
        "storage key",
        "full ",
        pattern=r"full[ ]{1,12}(?P<s>[A-Za-z0-9+/]{86}==)",
        line=r"(?i:(?m:^)[ \t|]*key[12][ \t|]{1,12})$",
        examples=("key1       FULL           «<b86>==»",),
        others=("the buffer is full of data",),
    ),
    form(
        "password",
        '"result"',
        pattern=r"\"result\"[ ]?:[ ]?\"(?P<s>[^\"\n]{6,200})\",\s{0,20}\"special\"[ ]?:",
        examples=('"min_upper": 0, "result": "«<a20>»", "special": true',),
        others=('"result": "ok", "status": 2',),
        accept=given,
    ),
    form(
        "password",
        "pwgen ",
        pattern=r"pwgen (?:-[\w-]+[ ]?|\d+[ ]?){0,5}\r?\n(?P<s>[^\s]{8,100})(?=[ \t]*(?:\r?\n|$))",
        examples=("$ pwgen -s 20 1\n«<a20>»", "$ pwgen 16 1\n«aeCohRo4aeph9Ohz»"),
        others=("pwgen -s 20\nusage: pwgen", "$ pwgen --help\nUsage:"),
        accept=lambda value: given(value) and not value.endswith(":"),
    ),
    form(
        "API key",
        ".com/v2/",
        pattern=r"\.com/v2/(?P<s>[\w-]{32})(?![\w/-])",
        line=r"(?i:alchemy(?:api)?)$",
        examples=("https://eth-mainnet.g.alchemy.com/v2/«<w32>»",),
        others=("https://eth-mainnet.g.alchemy.com/v2/your-api-key", "https://api.acme.com/v2/users"),
    ),
    form(
        "API key",
        ".io/v3/",
        pattern=r"\.io/v3/(?P<s>[0-9a-f]{32})(?!\w)",
        line=r"(?i:infura)$",
        examples=("https://mainnet.infura.io/v3/«<h32>»", "wss://mainnet.infura.io/v3/«<h32>»"),
        others=("https://mainnet.infura.io/v3/YOUR-PROJECT-ID",),
    ),
    *(
        form(
            "one-time code",
            anchor,
            pattern=rf"{anchor}(?:[ ][^\s.:;=!?,]{{1,20}}){{0,4}}?(?:{_IS}|[ ])[\"'`]?(?P<s>\d{{4,8}}[#*]?)(?!\w|[.,]\d)",
            examples=(f"{anchor} at the office is «849063#»", f"{anchor}: «4821»"),
            others=(f"{anchor} has 4 digits", f"{anchor} is needed"),
        )
        for anchor in (
            "door code",
            "gate code",
            "safe code",
            "alarm code",
            "code für den tresor",
            "code für die tür",
            "code für die alarmanlage",
        )
    ),
    form(
        "password",
        "olarak ",
        pattern=rf"olarak {_TICK}{_SECRET}{_STOP}",
        line=r"(?i:(?:parola|şifre)(?:y[ıi]|s[ıi]|niz)?[ ])$",
        examples=("parola olarak «<l7>Balik5» yaz", "şifre olarak «<a12>» girin"),
        others=("parola olarak kabul edilir",),
        accept=_answer,
    ),
    form(
        "password",
        "db.password=",
        pattern=r"db\.password=(?P<s>[^\s,;&}{\"'`]{4,200})",
        examples=("{db.user=prod, db.password=«Wolk3nkuckuck», pool=8}".replace("», pool", "», pool"),),
        others=("db.password=${DB_PASSWORD}",),
        accept=given,
    ),
)
