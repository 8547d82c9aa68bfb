"""Codes that stand for a password once or for good, as a table: recovery codes, one-time codes, PINs, seeds of authenticators."""

from __future__ import annotations

import re

from autocompact.core.redaction.building import form
from autocompact.core.redaction.rules import Form
from autocompact.core.redaction.values import has_digit, is_code, wordlike

_ONE = r"(?:\d{6,10}|\d{3,5}[ -]\d{3,5}|[a-z0-9]{4,6}(?:-[a-z0-9]{4,6}){1,5}|(?=[a-z]{0,9}\d)[a-z0-9]{8,12})"
_IN_LIST = (
    r"(?:\d{6,10}|\d{3,5}[ -]\d{3,5}|[a-z0-9]{4,12}(?:-[a-z0-9]{4,12}){1,5}|(?=[a-z]{0,15}\d)[a-z0-9]{8,16})"
)
_GROUP = re.compile(r"[A-Za-z2-7]{4}")
_ITEM = r"(?:(?:\d{1,5}\t[ \n]{0,8}){1,2}|[-*•>|]|\d{1,2}[.):\]])?[ \t|]{0,4}[\"'`]?"
"""What stands before a code in a list; also the number of its line in a file, behind that of an empty one."""

_CODE = r"(?:(?-i:[A-Z])-)?(?!(?:19|20)\d\d(?!\d))\d{4,8}[#*]?|\d{2,4}(?:[ -]\d{2,4}){1,3}"
_IS = r"(?:[ ](?:is|ist|lautet|est|es|è|é)(?: (?:le|la|el|il|now|jetzt))?:?|[ ]?[:：=]|:[ ]?)[ \n]{1,3}[\"'`*]{0,2}"
_PURPOSES = (
    "verification|security|login|log-in|sign-in|one-time|confirmation|authentication|authenticator|access|otp|sms|2fa|mfa|activation|device|user"
    "|door|gate|alarm|garage|entry|keypad|lock|locker|safe|vault|voicemail|pairing|unlock|disarm|panel|lockbox|room|building|house|invite|reset"
    "|bestätigungs|sicherheits|einmal|zugangs|anmelde|tür|tor|alarm|garagen|freischalt|verifizierungs|aktivierungs|entsperr|haus|safe|tresor"
)
"""What a code is for that is typed in."""
_ROMANCE = (
    "v[ée]rification|s[ée]curit[ée]|confirmation|validation|acc[èe]s|d[ée]verrouillage|connexion|l['’]alarme|(?:la )?porte"
    "|verificaci[óo]n|seguridad|confirmaci[óo]n|acceso|activaci[óo]n|la puerta|la alarma|desbloqueo"
    "|verifica|sicurezza|conferma|accesso|attivazione|sblocco|verifica[çc][ãa]o|seguran[çc]a|confirma[çc][ãa]o|acesso|ativa[çc][ãa]o"
)


def _is_code(value: str) -> bool:
    return has_digit(value) and value.lower() != "2fa"


def _is_seed(value: str) -> bool:
    """True for groups of four of which one cannot be said, and for those with a digit."""
    return has_digit(value) or any(wordlike(group) < 1 for group in _GROUP.findall(value))


CODES: tuple[Form, ...] = (
    form(
        "recovery codes",
        " code",
        pattern=rf" codes?(?: are| is)?(?: for [^\s:]{{1,60}})?(?: ?\([^()\n]{{1,60}}\)|[ ][—–-][ ][^\n:]{{1,60}}\n|,[ ][^\n:]{{1,60}}(?=:))?[ ]?:?[ \n]{{0,8}}{_ITEM}(?P<s>{_ONE}(?:[\"'`]?(?:,|[ ]|\n)[ \n]{{0,6}}{_ITEM}{_ONE}){{0,20}})(?![\w-])",
        line=r"(?i:(?<!\w)(?:backup|recovery|scratch|2fa|mfa|emergency|rescue|reserve))$",
        examples=(
            "backup codes: «12345679, 90651818»",
            "Recovery codes:\n«a1b2c-d3e4f\nb1c2d-e3f4a»",
            "Here are my recovery codes, keep them safe:\n«a1b2c-d3e4f\nb1c2d-e3f4a»",
            "Recovery codes:\n1. «a1b2-d3e4\n2. b1c2-e3f4»",
            "Backup codes for bob@acme.dev:\n  - «9078 5171\n  - 0866 3337»",
            "     3\tGitHub recovery codes\n     4\t\n     5\t«<h4>a-b<h4>\n     6\t<h4>a-b<h4>\n     7\t<h4>a-b<h4>»\n     8\t",
            "emergency codes: «<h4>-<d4>-<h4>-1a2b, <h4>-<d4>-<h4>-2c3d»",
        ),
        others=("backup codes: none left", "recovery codes are shown once", "Recovery codes: 10 remaining"),
        accept=_is_code,
    ),
    form(
        "recovery codes",
        " code",
        pattern=rf" codes?(?: (?:left|remain(?:ing|s)?|that|still|unused|valid|i|we|you|have|can|use|generated|saved|one|more|available|below|übrig|noch)){{1,4}}(?: ?\([^()\n]{{1,60}}\))?[ ]?(?::|=|–|—)[ \n]{{1,4}}{_ITEM}(?P<s>{_ONE}(?:[\"'`]?(?:,|[ ]|\n)[ \n]{{0,6}}{_ITEM}{_ONE}){{0,20}})(?![\w-])",
        line=r"(?i:(?<!\w)(?:backup|recovery|scratch|2fa|mfa|emergency|rescue|reserve))$",
        examples=(
            "one backup code left: «4675 0627»",
            "recovery codes that remain (2): «a1b2-c3d4, e5f6-a7b8»",
        ),
        others=("backup codes left: 8", "recovery codes left: see the vault"),
        accept=_is_code,
    ),
    form(
        "recovery codes",
        "codes",
        pattern=rf"codes\\?[\"']?\s{{0,4}}[:=]\s{{0,4}}\[\s{{0,20}}\\?[\"'](?P<s>{_IN_LIST}(?:\\?[\"'],\s{{0,20}}\\?[\"']{_IN_LIST}){{0,20}})\\?[\"']",
        line=r"(?i:(?:backup|recovery|scratch|rescue|reserve|emergency)[_-]?)$",
        examples=(
            '{"recovery_codes": ["«a1b2-c3d4", "e5f6-07a8»"]}',
            "backupCodes = ['«<h16>»']",
            '{"recovery_codes":["«<a8>x1-y2<a8>","<a8>x3-y4<a8>»"]}',
        ),
        others=('"recovery_codes": []', "recovery_codes: ['none']"),
        accept=_is_code,
    ),
    form(
        "recovery codes",
        "codes",
        pattern=rf"codes(?: [^\s:]{{1,30}}){{0,4}}(?:,[^\n:]{{1,60}})?(?:[ ]?:[ \n]{{1,4}}|(?:\.\w{{2,4}})?[\"'*:]{{0,3}}\r?\n{{1,2}}){_ITEM}(?P<s>{_IN_LIST}(?:[\"'`]?(?:,|[ ]|\n)[ \n]{{0,6}}{_ITEM}{_IN_LIST}){{1,20}})(?![\w-])",
        line=r"(?i:(?<![A-Za-z])(?:wiederherstellungs|notfall|ersatz|backup[-_]|recovery[-_]|sicherungs|reserve))$",
        examples=(
            "Wiederherstellungscodes für das Konto, falls nötig: «<h16>, <h16>»",
            "Notfallcodes:\n«a1b2-c3d4\ne5f6-a7b8»",
        ),
        others=("Wiederherstellungscodes: siehe Tresor",),
        accept=_is_code,
    ),
    form(
        "one-time code",
        "code",
        pattern=rf"code(?: (?:for|of|to|on|from|für|vom|zum|zur|pour|para|per) [^\s:.]{{1,60}}(?: [^\s:.]{{1,30}}){{0,3}}|(?<=tresor-code|.alarm-code|..safe-code|..door-code|..gate-code)(?: [^\s:.]{{1,30}}){{1,3}})?{_IS}(?P<s>{_CODE}|[A-Z0-9]{{4,8}}-[A-Z0-9]{{4,8}})(?![\w-])",
        line=rf"(?i:(?<!\w)(?:{_PURPOSES})[ -]?|(?<!\w)(?:your|ihr|dein|(?:pin|2fa|mfa|sms|otp|tan)[ -]?)[ ]?)$",
        examples=(
            "Your verification code is «416874».",
            "! First copy your one-time code: «64B6-BEB6»",
            "login code: «481-902»",
            "Your code is «482913»",
            "Ihr Bestätigungscode lautet «482913»",
            "Der Türcode für das Büro ist «4821»",
            "gate code: «9142»",
            "the alarm code is «4821#»",
            "The door code for the lab is «58213».",
        ),
        others=(
            "error code: 500123",
            "Your verification code expires in 10 minutes",
            "country code: 491234567",
            "exit code is 137",
            "status code 2024",
            "your code is 2024 lines long",
            "Fehlercode: 500123",
        ),
    ),
    *(
        form(
            "one-time code",
            anchor,
            pattern=rf"{anchor} (?:(?:de |d['’]|di |do |da |del )?(?:{_ROMANCE})|PIN)(?: (?:de|du|del?|della?|do|da|pour|para|per)(?: l[ae])? [^\s:.]{{1,30}}(?: [^\s:.]{{1,30}}){{0,2}})?{_IS}(?P<s>{_CODE})(?![\w-])",
            examples=tuple(f"{said} «482913»" for said in sentences),
            others=(f"{anchor} postal : 482913", f"{anchor} de error: 500123"),
        )
        for anchor, sentences in (
            ("code", ("Votre code de vérification est", "Le code d'accès :", "Le code PIN est")),
            ("codice", ("Il codice di verifica è", "codice di accesso:")),
            ("digo", ("Su código de verificación es", "O código de segurança é", "código de acceso:")),
        )
    ),
    form(
        "one-time code",
        "code",
        pattern=r"code(?![\w-])",
        line=rf"(?i:(?<![\w.-])(?P<s>{_CODE}) (?:is|as|ist|als) (?:your|the|my|ihr|dein)(?: [\w-]{{1,20}}){{0,2}} (?:{_PURPOSES})[ -]?)$",
        examples=(
            "«G-482913» is your Google verification code.",
            "Use «482913» as your login code",
            "«482 913» is your Acme security code",
        ),
        others=("500123 is the error code", "2024 is your verification code"),
        accept=is_code,
    ),
    *(
        form(
            "one-time code",
            anchor,
            pattern=rf"{re.escape(anchor)}(?:(?<=:)|[^\n:]{{0,120}}?(?:autet|[ ]ist)):?[ ]{{1,3}}(?P<s>{_CODE})(?![\w-])",
            line=r"(?i:(?<!\w)(?:[a-z]{0,6}-?|i-)?)$",
            examples=(
                f"Ihre m{anchor}ür die Zahlung von 1.250,00 EUR lautet «804 517».".replace("anlür", "an für"),
            )
            if anchor == "tan f"
            else (f"Ihre SMS-{anchor} «804517»" if anchor[-1] == ":" else f"Die {anchor}autet «804517»",),
            others=(f"constant {anchor}", f"die Kos{anchor} 2024"),
        )
        for anchor in ("tan f", "tan l", "tan:")
    ),
    form(
        "one-time code",
        "code ",
        pattern=rf"code (?:for|of|to|für|vom|zum|zur) (?:[^\W\d]{{1,20}} ){{0,2}}[^\W\d]{{0,20}}(?:tresor|safe|alarm|anlage|tür|tor|door|gate|lock|vault|garage|schlüsselbox|lockbox) (?P<s>{_CODE})(?![\w-]|[.,]\d)",
        examples=("der Code für den Schlüsseltresor «58731».", "code for the gate «4821»"),
        others=("code for the door sensor 12345", "code of the vault 2024"),
        accept=is_code,
    ),
    form(
        "combination",
        "combination",
        pattern=rf"combination(?: (?:for|of|to) [^\s:.]{{1,30}}(?: [^\s:.]{{1,30}}){{0,3}})?{_IS}(?P<s>\d{{1,3}}(?:[ -]\d{{1,3}}){{2,4}}|\d{{4,8}})(?![\w-])",
        examples=("the safe combination is «34-12-27»", "combination of the safe: «58213»"),
        others=("a combination is 2 of them", "the combination of both: 12"),
    ),
    form(
        "PIN",
        "pin",
        pattern=r"pin[ ](?P<t>\d{4,8})(?=[ ,;/]{1,3}puk)|pin(?:[ -]?code)?(?: (?!gpio)[\w'-]{1,20}){0,5}?(?: is| ist| lautet| est| es| è| é|[ ]?(?:[:=：]|は|是|为|コードは|码(?:是|为|：)|은|는))[ ]?[\"'`]?(?P<s>\d{4,12})(?![A-Za-z0-9_]|[.,]\d)",
        line=r"(?i:(?<![A-Za-z0-9_-])(?<!gpio )(?:[\w-]{1,20}[_-])?)$",
        examples=(
            "the PIN of the safe is «9238»",
            "sim_pin: «4821»",
            "PIN: «482177»",
            "PINは«4821»です",
            "SIM card: PIN «3361» PUK 1",
            "PIN码是«482913»",
        ),
        others=("GPIO pin is 4", "pins: 12, 14", "pin: 18", "spin: 1234", "PIN the dependency to 1.2.3"),
    ),
    *(
        form(
            "authenticator seed",
            anchor,
            pattern=rf"{anchor}(?: (?:key|code))?[\"'`]?[^\n:=]{{0,60}}?(?: is|[ ]?[:=])[ \n]{{0,3}}[\"'`]?(?P<s>[a-z2-7]{{4}}(?:[ -][a-z2-7]{{4}}){{3,12}})(?![\w-])",
            examples=(
                f"{anchor}: «x62n lxgq eofa ri5r uwno q7sb fglb wwhf»",
                f"enter this {anchor} by hand: «x62n lxgq eofa ri5r uwno q7sb»",
            ),
            others=(f"{anchor}: this word will stay here",),
            accept=_is_seed,
        )
        for anchor in (
            "secret",
            "setup key",
            "manual entry",
            "authenticator key",
            "2fa-geheimnis",
            "geheimnis",
            "by hand",
            "manually",
            "scan",
            "barcode",
            "qr code",
            "qr-code",
            "instead",
        )
    ),
)
