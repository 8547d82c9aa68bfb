"""Names of secrets crossed with the places where a name has its value: what is found in one place is found in all."""

from __future__ import annotations

import random
import string

import pytest

from autocompact.core.redaction import redact

PASSWORDS = (
    "password DB_PASSWORD db_password dbPassword smtp-password MYSQL_ROOT_PASSWORD adminPassword user_passwd SMTP_PASS"
    " passphrase Password userPassword"
).split()
KEYS = (
    "api_key API_KEY apiKey STRIPE_API_KEY access_token accessToken client_secret clientSecret SECRET_KEY auth_token private_key"
    " webhook_secret GITHUB_TOKEN ApiKey signing_key refresh_token"
).split()
PLACES = r"""
{n}={v}
{n} = {v}
{n}: {v}
{n}='{v}'
"{n}": "{v}",
{"{n}":"{v}"}
{\"{n}\":\"{v}\"}
{"{n}": ["{v}"]}
'{n}' => '{v}',
:{n} => "{v}"
{n} := "{v}"
const {n} = "{v}";
let {n}: string = '{v}';
var {n} = `{v}`
${n} = '{v}';
config["{n}"] = "{v}"
setattr(cfg, "{n}", "{v}")
define('{n}', '{v}');
props.put("{n}", "{v}");
os.environ["{n}"] = "{v}"
process.env.{n} || '{v}'
export {n}="{v}"
$env:{n} = "{v}"
docker run -e {n}={v} app
app --{n}="{v}"
helm upgrade x --set app.{n}={v},image.tag=2
kubectl create secret generic s --from-literal={n}={v}
terraform apply -var="{n}={v}"
<{n}>{v}</{n}>
<db:{n}>{v}</db:{n}>
<{n} value="{v}"/>
<add key="{n}" value="{v}" />
<property name="{n}">{v}</property>
<key>{n}</key>¶<string>{v}</string>
<name>{n}</name>¶<value>{v}</value>
- name: {n}¶  value: {v}
- name: {n}¶  description: the one of the shop¶  value: "{v}"
{"key": "{n}", "value": "{v}", "type": "text"}
{"value": "{v}", "name": "app.{n}"}
{"ParameterKey": "{n}", "ParameterValue": "{v}"}
{"OptionName": "{n}", "OptionValue": "{v}"}
{n}:¶  value: {v}
{n}:¶  type: string¶  default: "{v}"
"{n}": {¶  "sensitive": true,¶  "value": "{v}"¶}
{n}:¶  - {v}
{n}: >-¶  {v}
?{n}={v}&x=1
curl -F {n}={v} https://acme.dev/x
curl --data '{"{n}": "{v}"}' https://acme.dev/x
| {n} | `{v}` |
{n}:¶{v}
**{n}:** {v}
{n}\u003d{v}
{n} is {v}
the {n} is `{v}`
# {n}={v}
[x]¶{n} = {v}¶y = 2
INFO {"msg":"x","{n}":"{v}"}
+{n}={v}
    12	{n}={v}
  12→{n}: "{v}"
echo "{n}={v}" >> .env
cat <<EOF > .env¶{n}={v}¶EOF
vault kv put secret/x {n}="{v}"
gh secret set {n} --body {v}
""".strip().split("\n")  # fmt: skip

_RANDOM = random.Random(11)
_WORDS = "Copper Falcon Lantern Meadow Pickle Walrus Bramble Cobalt Harbor Glacier Quarry Willow".split()


def _mixed(size: int) -> str:
    """Letters and digits that were made up, a digit and both cases among them."""
    made = "".join(_RANDOM.choice(string.ascii_letters + string.digits) for _ in range(size - 3))
    return f"q7{made}R"


def _passwords() -> list[str]:
    one, other = _RANDOM.sample(_WORDS, 2)
    return [f"{one}.{other}{_RANDOM.randint(10, 99)}", f"{one}!{_mixed(6)}#7", _mixed(12)]


def _keys() -> list[str]:
    return [_mixed(32), f"{_RANDOM.getrandbits(120):030x}7a", f"{_mixed(43)}="]


@pytest.mark.parametrize("place", PLACES)
def test_a_value_is_found_at_every_place_of_every_name(place: str) -> None:
    named = [
        *((name, value) for name in PASSWORDS for value in _passwords()),
        *((name, value) for name in KEYS for value in _keys()),
    ]
    texts = [
        (value, place.replace("¶", "\n").replace("{n}", name).replace("{v}", value)) for name, value in named
    ]
    assert [text for value, text in texts if value in redact(text)] == []


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", ["$SECRET_1", "<your-value-2>", "changeme", "required"])
def test_what_stands_for_a_value_stays_at_every_place(place: str, value: str) -> None:
    text = place.replace("¶", "\n").replace("{n}", "db_password").replace("{v}", value)
    assert redact(text) == text
