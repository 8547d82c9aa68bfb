"""Secrets that only their place gives away: an argument, a column, a line among settings, a sentence in another language."""

from __future__ import annotations

import pytest

from autocompact.core.redaction import redact

SECRETS = [
    ("db_password = moonlight\n", "moonlight"),
    ("# the shop\ndb_user = svc\ndb_password = moonlight\ndb_port = 5432\n", "moonlight"),
    ("TF_VAR_db_password=moonlight terraform apply", "moonlight"),
    ("ansible-playbook site.yml -e ansible_become_pass=moonlight", "moonlight"),
    ('psql "host=db user=svc password=moonlight"', "moonlight"),
    ('<add connectionString="Server=db;Password=moonlight" />', "moonlight"),
    ("users: static:bob:moonlight", "moonlight"),
    ("Login with bob / moonlight", "moonlight"),
    ("用户名 root 密码 xiangrikui77", "xiangrikui77"),
    ("пароль — podsolnuh77", "podsolnuh77"),
    ("das Passwort ist Wolkenbruch9, bitte nicht weitergeben", "Wolkenbruch9"),
    ("name,url,username,password\nShop,https://x.example,bob,moonlight", "moonlight"),
    ("name,password\npassport,sunshine7\nbypass,moonlight\npass,starlight9\n", "moonlight"),
    ("login,pass\nbob,moonlight\n", "moonlight"),
    ("name,user_pass,mail\nbob,moonlight,b@x.example\n", "moonlight"),
    ('"user";"password"\n"bob";"it""s moon light"\n', 'it""s moon light'),
    ("INSERT INTO users (name, password)\nVALUES ('bob', 'moonlight'), ('eve', 'sunshine7')", "sunshine7"),
]

LOOKALIKES = [
    "if password = moonlight then",
    "db_password = moonlight\nconnect(db_password)\n",
    "def f(db_password):\n    db_password = moonlight\n",
    "x = f(\n    db_password = moonlight\n)\n",
    "db_password = moonlight + 1",
    "if db_password = moonlight then",
    "db_password='moonlight_of_' terraform",
    "print db_password=moonlight or none",
    "then db_password=moonlight terraform",
    "set db_password = moonlight\n",
    "db_password = moonlight\n{ return 1; }\n",
    "name,password\n",
    "name,password\nbob\n",
    "name,password\nbob,,x,y\n",
    "name,password\nbob,'unfinished\n",
    "password,string,required\nemail,string,optional\n",
    "id,title,pass,fail\n1,Pumps,eleven,twelve\n",
    "name,first pass,login\nbob,moonlight,sunny\n",
    "note: a pass, then a word\n",
    "INSERT INTO users (name, password) SELECT name, passwd FROM old",
    "INSERT INTO users (name, password) VALUES ('bob', hashed)",
    "INSERT INTO users (name, password) VALUES ('bob')",
    "INSERT INTO counts (kind, passed) VALUES ('bobs', 'eight')",
    "x" * 2_100 + "name,password\nbob,moonlight\n",
    "name,password," + "a," * 1_100 + "\nbob,moonlight\n",
    "Log in with google / facebook",
    "La clave del problema es rendimiento",
]


@pytest.mark.requirement("E1")
@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_a_secret_that_its_place_gives_away_is_replaced(text: str, secret: str) -> None:
    assert secret in text
    assert secret not in redact(text)


@pytest.mark.parametrize("text", LOOKALIKES)
def test_what_is_no_value_at_such_a_place_stays(text: str) -> None:
    assert redact(text) == text
