"""Passwords that people make up, in sentences, logs and calls whose line speaks of a password or a login."""

from __future__ import annotations

import pytest

from autocompact.core.redaction import find_secrets
from autocompact.core.redaction.values import is_chosen

SECRETS = (
    "hey can you ssh into the build box? it'll ask for a password, type «lemon-Tractor-88»",
    "pw for the staging VPN hasn't changed: «quokka77Riverbank»",
    "The seed login and its password, «gr33nTea&scones», must be rotated on first use.",
    "Ich habe dir das Passwort auf «Sonnenblume#17» zurückgesetzt",
    "das neue wlan passwort im büro ist seit heute «Kaffeemaschine2024»",
    "La password per il portale è cambiata, ora si usa «Vesuvio.79dC»",
    "새 비밀번호를 «hanriver#2291» 로 바꿨어요",
    "şifre artık «Kizilirmak_42» oldu",
    "Password for 'https://deploy@git.acme.dev': «tK92!vvLopq»",
    "Enter passphrase for key '/home/dev/.ssh/id_ed25519': «mossy cobble lantern 41»",
    "> What is the token?\n< «7f9c2ba4e88f827d616045507605853e»",
    "I logged in using admin/«C0rn.Muffin» and it worked",
    "DEBUG login attempt u=bob p=«Whisper$9» ip=10.0.0.2",
    "ssh root@10.2.3.4 (pw: «Holz-Hacker99»)",
    "«Lantern-Harbor27» is the password for staging",
    "for the NAS login take bob and «Batman&Robin»",
    "paramiko.connect(host, 22, 'root', 't00r') # or «tinC4n-Lid»",
    "storepass «pineapple99x»",
    "JWT_SECRET=«super-duper-long-phrase-for-signing-2024»",
    "DB_PASS: «admin.Lagerhaus3»",
    "DB_PASSWORD=«Rusty-Nail.Bar7»",
    "wpa_passphrase=«orchid garden 1987»",
    "redis:\n  password: «tangerine-dream»\n",
    "password: '«dartVader»',",
    "Server=tcp:db;Database=y;User ID=z;Password=«Quill&Ink77»;Encrypt=True",
    "smtps://mailer%40acme.dev:«Env3lope%21»@smtp.acme.dev:465",
)
HARMLESS = (
    "the password field uses PasswordInput2 from antd@5.2.1",
    "login fails on iPhone14 with iOS17.2 and Safari",
    "log in to the staging-cluster-02 first and run the job",
    "password hashing uses bcrypt2y with cost12, see RFC-7914",
    "credentials are stored in kv/data/prod2/db",
    "password policy: min12chars, 1 digit",
    "login page v2 broke in commit 9fceb02 (see PR-418)",
    "sign in with Auth0 or GitHub2FA",
    "unlock the account of mueller-07 in AD",
    "Accepted publickey for deploy from 10.1.2.3 port 4711 ssh2",
    "The wifi AP is model UAP-AC-Pro-Gen2 on channel36",
    "Anmeldung an Server SRV-DB-02 schlägt fehl, Event-ID 4625",
    "password manager: KeePassXC-2.7.6",
    "credential helper is git-credential-manager-2.4.1",
    '<div class="css-1q2wzxj e1foriar0"><span>Sign in</span></div>',
    '<input type="password" class="svelte-mpt099">',
    '<a className="_DWKLO_mvJ4O_17 group/item" href="/reset-password">Forgot password?</a>',
    "passwd-utils 1:4.13+dfsg1-4ubuntu3.2 amd64",
    "libpam-passwdqc 2.0.2-1ubuntu2.1 amd64",
    "Twilio message SMf77488acfdf8ca9c84a4bb78a03d10be",
    "NEXT_PUBLIC_STRIPE_PUBLISHABLE_KEY=pk_live_51728hr7AkhPlbjl1fZpeJmjhDr9IwJw4EgvwoIjW83VDcnyHhT6G0xwp8m9dz7UQXUINq2Rezpk9npm7E",
    "please put this key on the server: ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBKcZDdyITxpWQGPZlp0/jJZ1e1xzS+AWx7Wf2w/fhB1maWpBS65iuIjMQkx+nCuW7qY2IcVsJV2khNzmIiy4YHc= marta@mbp",
    "password rotation job rotate-db-pw-30d ran at 03:00",
    "login = LoginForm2(request.POST)",
    "auth = HTTPBasicAuth2(user, pw)",
    "exports.Socks5Auth = Socks5Auth, with user and password",
    'the login of {"id":"MDQ6VXNlcjcwNzQx"} is known',
    "sshpass -e ssh deploy@web1 uptime",
    "password: 2024-01-01",
    "integrity of the login bundle: sha512-yUbJ2etmvsyrIrrah+3qnM+OOOrybxlB8WqnQoN5oDKhfgnggP++7JknfKWyGR2MQU1Gb2==",
    "QZq4cGFzpasswordwW+D1/ 0vMZrOu6wBJgKTWGlf9jxFcddVVVz2 x",
)


def _spans(text: str) -> list[str]:
    return [text[span.start : span.end] for span in find_secrets(text)]


@pytest.mark.requirement("E1")
@pytest.mark.parametrize("marked", SECRETS)
def test_what_people_made_up_is_found_in_a_line_about_a_login(marked: str) -> None:
    before, _, rest = marked.partition("«")
    secret, _, after = rest.partition("»")

    assert secret in _spans(before + secret + after)


@pytest.mark.parametrize("text", HARMLESS)
def test_names_versions_and_hosts_in_such_a_line_stay(text: str) -> None:
    assert _spans(text) == []


@pytest.mark.parametrize(
    "value",
    ["Wint3r-Palace", "lemon-Tractor-88", "TortugaVerde55", "katze-auf-dem-Dach7", "mittwoch.ist.gut9"],
)
def test_words_with_a_number_are_chosen_where_something_leads_to_them(value: str) -> None:
    assert is_chosen(value, beside=True)


@pytest.mark.parametrize(
    "value",
    "httpx2.Response 0001_initial.sql compact-2026-01-12 checkout@v4 v0.3.5.7+ PKCS#12 SOCKSv5-protokollen"
    " 9fceb02d0ae5 SigV4Auth 12zeichen SRV-DB-02 Team-db-77 KeePassXC-2.7.6 myproject-123 findBranch2".split(),
)
def test_what_programs_call_something_is_not_chosen(value: str) -> None:
    assert not is_chosen(value, beside=True)
