"""Passwords of letters alone, and what documents, forms and code write in their place."""

from __future__ import annotations

import re

import pytest

from autocompact.core.redaction import find_secrets
from autocompact.core.redaction.words import is_word

pytestmark = pytest.mark.requirement("E1")

STATED = r"""
127.0.0.1:6379> AUTH svc «Sommerregen»
password: «correcthorse»
Password: «tournesol»
requirepass «moonlight»
masterauth «manzanaverde»
the password is «Sommerregen»
The admin password is «dragonfly».
my password is «swordfish», please log in
I set the password to «puddingform».
The password was changed to «fluffycloud».
New password: «nightingale»
Das Passwort ist «Lagerfeuer».
Das Passwort lautet «Winterabend»
Passwort geändert auf «Regenschirm»
Passwort: «Kaffeetasse»
WLAN-Passwort: «Blumentopf»
Le mot de passe est «parapluie».
mot de passe : «tournesol»
La contraseña es «manzanaverde».
contraseña: «girasoles»
La password è «elefantino».
A senha é «borboletas».
Het wachtwoord is «regenboogvis».
密码是 «sakurasaku»
密码：«dragonfly»
パスワードは «moonlight» です
パスワード: «sakurasaku»
пароль: «бабочкарадуга»
spring.datasource.password=«tournesol»
PGPASSWORD=«Winterabend» psql -h db
psql 'host=db user=app password=«rainbowbridge» dbname=shop'
jdbc:postgresql://db/x?user=app&password=«rainbowbridge»&ssl=true
Driver={ODBC Driver 18};Server=db;Uid=app;Pwd=«moonlight»;
kubectl create secret generic db --from-literal=password=«moonlight»
[client]\nuser = app\npassword = «moonlight»\n
{"user": "app", "password": "«rainbowbridge»"}
'password' => '«Lagerfeuer»',
define('DB_PASSWORD', '«Lagerfeuer»');
<password>«Gewitternacht»</password>
wget --http-user=bob --http-password=«Sommerregen» https://example.com
ALTER USER app WITH PASSWORD '«rainbowbridge»';
AWS Secret Access Key [None]: «7pzNk8cL6j5IXAAjlsHUqJoUD/+Ydua+5ZMs1SWO»
"""

OTHERS = r"""
password: required
password: string
password: String!
password: str
Password: Optional
password: z.string()
"password": "Password"
"password": "Passwort"
"password": "Mot de passe"
"password": "Contraseña"
"password": "Wachtwoord"
"password": "Kennwort"
"password": "Adgangskode"
"forgotPassword": "Forgotten?"
"confirmPassword": "Confirm"
"confirm_password": "Confirmation"
'password' => 'hashed',
'password' => 'required|confirmed|min:8',
"password": "wrongpassword"
"password": "incorrect"
"password": "encrypted"
"password": "sensitive"
password: userInput
password: candidate,
password = candidate
    password=candidate,
    password=plaintext)
password: credentials.password
password: SecretStr
password: Optional[str]
password: CharArray
password: Varchar
password: LongText
Password string `json:"password"`
val password: CharArray
let password: SecureString
password: Credential;
password: process.env.PASSWORD
password = getpass.getpass()
password = prompt("Password")
password = request.form
password = attempt
the password is wrong
the password is wrong.
The password is incorrect.
The password is invalid, try again.
the password is required.
the password is stored in the vault
the password is hashed with bcrypt.
the password is never logged.
the password is case sensitive.
the password is encrypted.
the password is too short.
the password is optional.
the password is automatically generated.
the password is missing.
the password is expired.
the password is visible.
the password is somewhere else.
the password is identical.
the password is compromised.
the password is rotated.
the password is unchanged.
the password is everything.
the password is alphanumeric.
the password is sufficient.
the password is plaintext.
the password is irrelevant.
The password was rejected.
The password has been rotated.
the password is read from the environment
the password is nowhere to be found
the password is whatever you choose.
the password is confidential.
the password is mandatory.
the password is forgotten.
the password is guessable.
the password is unreadable.
the password is shown below.
the password is similar.
the password is obsolete.
the password is therefore rejected.
the password is accepted.
The admin password is configurable.
your password is vulnerable.
Das Passwort ist falsch.
Das Passwort ist ungültig.
Das Passwort ist erforderlich.
Das Passwort ist abgelaufen.
Das Passwort ist gespeichert.
Das Passwort ist verschlüsselt.
Das Passwort ist unsicher.
Das Passwort ist identisch.
Das Passwort ist notwendig.
Das Passwort ist bekannt.
Das Passwort wurde geändert.
Das Passwort ist zurückgesetzt.
Das Passwort ist vergessen.
Das Passwort wird benötigt.
Das Passwort ist optional.
Das Passwort ist kompromittiert.
Das Passwort ist hinterlegt.
Das Passwort war korrekt.
Das Passwort ist schwach.
Das Passwort ist vertraulich.
Le mot de passe est incorrect.
Le mot de passe est obligatoire.
Le mot de passe est invalide.
Le mot de passe est expiré.
Le mot de passe est requis.
Le mot de passe est nécessaire.
Le mot de passe est chiffré.
Le mot de passe est manquant.
Le mot de passe est différent.
Le mot de passe est visible.
Le mot de passe est identique.
Le mot de passe est compromis.
La contraseña es incorrecta.
La contraseña es obligatoria.
La contraseña es requerida.
La contraseña es inválida.
La contraseña es necesaria.
La contraseña es diferente.
La contraseña es insegura.
La contraseña es correcta.
La contraseña es confidencial.
La contraseña fue cambiada.
La password è errata.
La password è sbagliata.
La password è scaduta.
La password è richiesta.
La password è obbligatoria.
La password è corretta.
La password è sicura.
A senha é inválida.
A senha é obrigatória.
A senha é incorreta.
A senha é necessária.
A senha está expirada.
Het wachtwoord is onjuist.
Het wachtwoord is verplicht.
Het wachtwoord is verlopen.
Het wachtwoord is gewijzigd.
密码是 required
密码：required
パスワードは required です
Password: Forgotten
Password: authentication failed
Password: Documentation
Password: Requirements
### Password: Overview
- Password: Mandatory
* password: plaintext
password (optional): leave blank
--password PROMPT
--password=disabled
<password>encrypted</password>
<input type="password" name="password" placeholder="Passwort">
autocomplete="current-password"
grant_type=password&username=bob
type: password
format: password
kind: password
inputType: "password"
"type": "password"
label: Password
password_policy: standard
password_encoder = bcrypt
password_field = forms.CharField
passwordInput: HTMLInputElement
const password = ref(undefined)
const password = useState
const password = formData
const { password } = credentials
PASSWORD=changeme
DB_PASSWORD=placeholder
DB_PASSWORD=postgres
MYSQL_PASSWORD=password
POSTGRES_PASSWORD=example
PASSWORD=undefined
PASSWORD_STORE=keychain
PASSWORD=$PASSWORD
password=***
password='placeholder'
password="undefined"
password: "disabled"
password: 'optional'
password: "unspecified"
with pytest.raises(ValueError, match="password"):
def test_password_is_required():
test_the_password_is_rejected_when_it_is_wrong
requirepass is set
# requirepass foobared
masterauth is configured
AUTH LOGIN PLAIN
AUTH failed
AUTH required
ERR AUTH called without any password configured
the auth backend is django
-NOAUTH Authentication required.
redis> AUTH
S: 250-AUTH LOGIN PLAIN CRAM-MD5
send the password to support.
reset the password to default.
set the password to something.
set the password to anything.
change the password to whatever.
I changed the password to prevent abuse
update the password to continue.
pass is deprecated.
pass it to handler.
The first pass is complete.
second pass: optimize
pass: successful
PASS: everything
boarding pass: confirmed
passphrase: none
net user bob /active:yes
net user accounts
enable password protection
enable secret scanning
username and password are required
username admin password required
snmp-server community public RO
the user is on > page
"keyName": "primary"
kind: Secret
kind: Secret\nmetadata:\n  name: database-credentials\n  namespace: production
kind: SecretProviderClass\ndata:\n  objects: something
kind: ConfigMap\ndata:\n  password: none
variable "password_length" {\n  default = "sixteen"\n}
Digest auth with response=ok
cat public.key
export PASSWORD_FILE=/run/secrets/x
password => callback
password -> Maybe
the password: a secret string known to the user
Password:
password: |
password: >-
password: !vault |
password: !Ref DbPassword
password: {{ vault_password }}
password: <redacted>
password: vault:secret/data/db
password: file
password: keyring
password: interactive
password: environment
password: automatic
Passwort: erforderlich
Passwort: vergessen?
Passwort bestätigen: Wiederholung
Mot de passe : obligatoire
Mot de passe : oublié
Contraseña: obligatoria
пароль: обязателен
пароль: неверный
The password is "secret".
The password is 'incorrect'.
password: Sequence
password: Callable
password: Awaitable
password: ReadonlyArray
password: NonNullable
password: Uint8Array
password: Buffer
password: integer
password: varchar
password: bytearray
password: repeated
password: asterisks
password: displayed
password: concealed
user.password: mismatch
errors.password: blank
password: minlength
password: maxlength
password: pattern
password: authentication
password: authorization
auth: password
password: certificate
password: passkeys
password: biometrics
password: fingerprint
password: supported
password: deprecated
password: unsupported
password: available
password: comparison
password: whitespace
password: letmein
password: subcommand
password: keyboard
password: clipboard
password: subsystem
password: component
password: directive
password: middleware
password: framework
password: frontend
password: management
password: decorator
password: attribute
password: parameter
password: argument
password: primitive
password: constructor
password: interface
password: namespace
password: dependency
password: migration
password: controller
password: repository
password: endpoint
password: template
password: directory
password: container
password: production
password: kubernetes
"""


def lines(text: str) -> list[str]:
    return [line.replace("\\n", "\n") for line in text.strip().splitlines()]


def found(text: str) -> list[str]:
    return [text[span.start : span.end] for span in find_secrets(text)]


@pytest.mark.parametrize("text", lines(STATED))
def test_letters_are_a_secret_where_something_states_that_they_are_a_password(text: str) -> None:
    before, secret, after = re.split("[«»]", text)
    assert found(before + secret + after) == [secret]


@pytest.mark.parametrize("text", lines(OTHERS))
def test_what_is_said_of_passwords_is_none(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize("word", ["moon", "a" * 41, "moon light", "MOONLIGHT", "moonUserLight", "postgresql"])
def test_what_is_no_word_or_stands_in_examples_is_none(word: str) -> None:
    assert not is_word(word)
