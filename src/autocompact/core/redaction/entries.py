"""Passwords that code enters into a form, compares with or makes a hash of, as a table."""

from __future__ import annotations

import re

from autocompact.core.redaction.building import form, made_up
from autocompact.core.redaction.rules import Form
from autocompact.core.redaction.values import is_chosen

_NAME = r"(?:pass(?:w(?:or)?d|phrase|code|wort)?|pwd?|secret|token|api[-_]?key|kennwort|senha|contrase)"
"""A part of the name of a field or a variable that has a secret."""
_LITERAL = r"b?(?P<q>[\"'`])(?P<s>(?:(?!(?P=q))[^\s]){4,200}?)(?:\{enter\}|\\[nrt])?(?P=q)"
_OTHERS = ("text2", "changed", "password", "required", "")


_FIELDS = tuple(
    form(
        "password",
        anchor,
        pattern=rf"{re.escape(anchor)}[ \n]{{0,20}}(?P<f>[\"'`])(?:(?!(?P=f))[^\n]){{0,120}}?{_NAME}(?:(?!(?P=f))[^\n]){{0,60}}(?P=f)[ ]?,[ \n]{{0,20}}(?:secret\()?{_LITERAL}",
        examples=(
            f"page{anchor}'input[name=\"password\"]', '«<a10>!»')",
            f"page{anchor}'#password', '«<a10>!»')",
        ),
        others=(
            *tuple(f"page{anchor}'#password', '{each}')" for each in _OTHERS),
            f"page{anchor}'#email', 'a1b2C3d4e5!')",
            f"page{anchor}'#password', password)",
        ),
        accept=made_up,
    )
    for anchor in (".fill(", ".type(", ".typetext(", ".fillfield(", ".setvalue(", ".sendkeys(", ".entertext(")
)

_EVENTS = tuple(
    form(
        "password",
        anchor,
        pattern=rf"{re.escape(anchor)}[^,\n]{{0,120}}?{_NAME}[^\n\"'`]{{0,30}}[\"'`/]?\w?\)?[ ]?,[ ]?(?:\{{[ ]?target:[ ]?\{{[ ]?value:[ ]?)?{_LITERAL}",
        examples=(
            f"{anchor}screen.getByLabelText(/password/i), '«<a10>!»')",
            f"{anchor}screen.getByLabelText('Password'), '«<a10>!»')",
            f"{anchor}passwordInput, {{ target: {{ value: '«<a10>!»' }} }})",
        ),
        others=(f"{anchor}screen.getByLabelText(/email/i), 'a1b2C3d4e5!')", f"{anchor}passwordInput, text2)"),
        accept=made_up,
    )
    for anchor in ("userevent.type(", "user.type(", "fireevent.change(", "fireevent.input(")
)

_COMPARED = (
    *(
        form(
            "password",
            anchor,
            pattern=rf"{re.escape(anchor)}[ \n]{{0,20}}(?:(?:buffer\.from\()?[$\w.\[\]'\":()>-]{{0,40}}?{_NAME}\w{{0,20}}[\]'\")]{{0,3}}[ ]?,[ \n]{{0,20}}(?:buffer\.from\()?{_LITERAL}"
            rf"|b?(?P<p>[\"'`])(?P<t>(?:(?!(?P=p))[^\s]){{4,200}})(?P=p)[ ]?,[ ]?[$\w.\[\]'\":>-]{{0,40}}?{_NAME})",
            examples=(
                f"{anchor}password, '«<a10>!»')",
                f'{anchor}config.db_password, "«<a10>!»")',
                f"{anchor}'«<a10>!»', user.password)",
            ),
            others=(
                f"{anchor}password, 'required')",
                f"{anchor}password, other_password2)",
                f"{anchor}name, 'a1b2C3d4e5!')",
                f"{anchor}'password', 'pw2')",
            ),
            accept=made_up,
        )
        for anchor in (
            "strcmp(",
            "compare_digest(",
            "secure_compare(",
            "timingsafeequal(",
            "hash_equals(",
            "assertequal(",
            "assertequals(",
            "assert_eq!(",
            "assert_equal(",
            "assert.equal(",
            "assert.strictequal(",
        )
    ),
    form(
        "password",
        ".equals",
        pattern=rf"\.equals(?:ignorecase)?\([ ]?[\w.]{{0,40}}?{_NAME}",
        line=r"[\"'](?P<s>[^\s\"']{4,200})[\"']$",
        examples=('if ("«<a10>!»".equals(password))',),
        others=('"required".equals(password)', '"a1b2C3d4e5!".equals(name)'),
        accept=made_up,
    ),
)

_HASHED = tuple(
    form(
        "password",
        anchor,
        pattern=rf"{re.escape(anchor)}(?:\.\w{{1,20}}|\w{{0,12}}){rest}\([ \n]{{0,20}}(?:(?:[$\w.>-]{{1,60}}|'[^'\n]{{0,200}}')[ ]?,[ ]?)?{_LITERAL}",
        line=r"(?:^|[^\w$]|_)(?:\w{0,30}_)?$",
        examples=(f"{said}'«<a10>!»')", f'{said}"«<a10>!»", 10)', f"{said}user.hash, '«<a10>!»')"),
        others=(f"{said}password, 10)", f"{said}'password')", f"{said}'sha256')"),
        accept=lambda value: made_up(value) or is_chosen(value, beside=True),
    )
    for anchor, rest, said in (
        ("bcrypt", r"\w{0,12}", "bcrypt.hashSync("),
        ("argon2", r"\w{0,12}", "argon2.hash("),
        ("scrypt", r"\w{0,12}", "crypto.scryptSync("),
        ("hashpw", "", "bcrypt.hashpw("),
        ("password_hash", "", "generate_password_hash("),
        ("password_verify", "", "password_verify("),
        ("make_password", "", "make_password("),
        ("check_password", "", "user.check_password("),
        ("hash::make", "", "Hash::make("),
        ("hash::check", "", "Hash::check("),
        ("pgp_sym_", "", "pgp_sym_decrypt("),
        ("aes_encrypt", "", "AES_ENCRYPT("),
        ("aes_decrypt", "", "AES_DECRYPT("),
        ("pbkdf2", r"\w{0,12}", "crypto.pbkdf2("),
        ("passwordencoder", r"\w{0,12}", "passwordEncoder.encode("),
    )
)

ENTRIES: tuple[Form, ...] = (*_FIELDS, *_EVENTS, *_COMPARED, *_HASHED)
