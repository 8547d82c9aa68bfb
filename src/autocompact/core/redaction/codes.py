"""Codes that stand for a password once or for good, as a table: recovery codes, one-time codes, PINs, seeds of authenticators."""

from __future__ import annotations

from autocompact.core.redaction.building import form
from autocompact.core.redaction.rules import Form
from autocompact.core.redaction.values import has_digit, mixed

_ONE = r"(?:\d{6,10}|\d{3,5}[ -]\d{3,5}|[a-z0-9]{4,6}(?:-[a-z0-9]{4,6}){1,5}|(?=[a-z]{0,9}\d)[a-z0-9]{8,12})"
_ITEM = r"(?:[-*•>|]|\d{1,2}[.):\]])?[ \t|]{0,4}[\"'`]?"


def _is_code(value: str) -> bool:
    return has_digit(value) and value.lower() != "2fa"


CODES: tuple[Form, ...] = (
    form(
        "recovery codes",
        " code",
        pattern=rf" codes?(?: are| is)?(?: for [^\s:]{{1,60}})?(?: ?\([^()\n]{{1,60}}\))?[ ]?:?[ \n]{{0,4}}{_ITEM}(?P<s>{_ONE}(?:[\"'`]?(?:,|[ ]|\n)[ \n]{{0,6}}{_ITEM}{_ONE}){{0,20}})(?![\w-])",
        line=r"(?i:(?<!\w)(?:backup|recovery|scratch|2fa|mfa|emergency|rescue|reserve))$",
        examples=(
            "backup codes: «12345679, 90651818»",
            "Recovery codes:\n«a1b2c-d3e4f\nb1c2d-e3f4a»",
            "Recovery codes:\n1. «a1b2-d3e4\n2. b1c2-e3f4»",
            "Backup codes for bob@acme.dev:\n  - «9078 5171\n  - 0866 3337»",
            "emergency codes: «<h4>-<d4>-<h4>-1a2b, <h4>-<d4>-<h4>-2c3d»",
        ),
        others=("backup codes: none left", "recovery codes are shown once", "Recovery codes: 10 remaining"),
        accept=_is_code,
    ),
    form(
        "one-time code",
        " code",
        pattern=r" code(?: for [^\s:]{1,60})?(?:[ ]is:?|[ ]?[:：=])[ \n]{1,3}[\"'`*]{0,2}(?P<s>\d{6,8}|\d{3}[ -]\d{3}|[A-Z0-9]{4,8}-[A-Z0-9]{4,8}|G-\d{6})(?![\w-])",
        line=r"(?i:(?<!\w)(?:verification|security|login|log-in|sign-in|one-time|confirmation|authentication|authenticator|access|otp|sms|2fa|mfa|passcode|activation|device|user))$",
        examples=(
            "Your verification code is «416874».",
            "! First copy your one-time code: «64B6-BEB6»",
            "login code: «481-902»",
        ),
        others=(
            "error code: 500123",
            "Your verification code expires in 10 minutes",
            "country code: 491234567",
            "exit code is 137",
        ),
    ),
    form(
        "PIN",
        "pin",
        pattern=r"pin(?:[ -]?code)?(?: (?!gpio)[\w'-]{1,20}){0,5}?(?: is| ist| lautet| est| es| è|[ ]?[:=])[ ]?[\"'`]?(?P<s>\d{4,12})(?!\w|[.,]\d)",
        line=r"(?i:(?<![\w-])(?:[\w-]{1,20}[_-])?)$",
        examples=("the PIN of the safe is «9238»", "sim_pin: «4821»", "PIN: «482177»"),
        others=("GPIO pin is 4", "pins: 12, 14", "pin: 18", "spin: 1234", "PIN the dependency to 1.2.3"),
    ),
    *(
        form(
            "authenticator seed",
            anchor,
            pattern=rf"{anchor}(?: (?:key|code))?[\"'`]?(?: is|[ ]?[:=])[ \n]{{0,3}}[\"'`]?(?P<s>[a-z2-7]{{4}}(?:[ -][a-z2-7]{{4}}){{3,12}})(?![\w-])",
            examples=(f"{anchor}: «x62n lxgq eofa ri5r uwno q7sb fglb wwhf»",),
            others=(f"{anchor}: this word will stay here",),
            accept=mixed,
        )
        for anchor in ("secret", "setup key", "manual entry", "authenticator key")
    ),
)
