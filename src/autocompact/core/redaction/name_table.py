"""The names of secrets, as a table: what `autocompact.core.redaction.names` looks for, with examples."""

from __future__ import annotations

import re
from collections.abc import Callable

from autocompact.core.patterns import LazyPattern
from autocompact.core.redaction.rules import Name
from autocompact.core.redaction.values import is_code, is_licence, is_made_up_key, is_session, is_uuid


def _name(
    kind: str,
    anchor: str,
    *,
    word: str,
    examples: tuple[str, ...],
    others: tuple[str, ...] = (),
    head: str = "",
    least: int = 0,
    sure: bool = True,
    accept: Callable[[str], bool] | None = None,
) -> Name:
    return Name(
        kind=kind,
        anchor=anchor,
        word=LazyPattern(word, re.IGNORECASE),
        head=LazyPattern(head, re.IGNORECASE) if head else None,
        examples=examples,
        others=others,
        least=least,
        sure=sure,
        accept=accept,
    )


def _foreign(anchor: str, word: str, *examples: str, others: tuple[str, ...] = ()) -> Name:
    return _name("password", anchor, word=word, examples=examples, others=others)


KEY_HEADS = tuple(
    "api apis access account secret private auth authentication encrypt encryption crypto crypt sign signing"
    " signature app application license licence service master admin shared subscription client storage function"
    " functions consumer webhook hmac jwt integration ingest write developer dev live prod sandbox secure wallet aes"
    " des rsa fernet preshared pre-shared data deploy project server security session recovery team org bot merchant"
    " partner openai anthropic stripe sendgrid mailgun mailchimp algolia datadog twilio google maps firebase gemini"
    " groq mistral cohere deepseek pagerduty okta heroku azure aws gcp github gitlab supabase pinecone weather"
    " setup ingestion openweather newrelic posthog segment mixpanel amplitude sentry rapidapi deepl instrumentation global tunnel"
    " vision speech translator cognitive push fcm gcm vapid apns payment gateway smtp mail sms join device enc dek kek cmk"
    " kms sas jws jwk maxmind infura alchemy etherscan tmdb omdb authorization sdk".split()
)
"""What stands before "key" in the name of a secret."""

_OTHER_KEYS = (
    "cache|hash|búsqueda|ricerca|busca|recherche|suche|orden|ordinamento|ordenación|tri|sortier|partición|partizione|partição|partition|prim|extern|estern"
    "|foreign|foránea|étrangère|fremd|públic|pubblic|public|öffentlich|configura|lettura|lectura|leitura|voûte|volta"
)
"""What a key is of that is none of a lock, in the Romance languages and German."""

NAMES: tuple[Name, ...] = (
    _name(
        "password",
        "pass",
        word=r"pass(?:wor[dt](?:s|nya)?|wds?|phrase|code|wrd|e(?=\W))?",
        examples=(
            'password = "«hunter2»"',
            "DB_PASSWORD=«hunter2»",
            "dbPasswd: '«Tr0ub4dor&3»'",
            'os.environ["DB_PASSWORD"] = "«hunter2x»"',
            r"{\"password\": \"«hunter2»\"}",
            'password: str = "«hunter2»"',
            "Log in with the password=«hunter2horse9» please",
            "host=db password=«x7horse9» user=a",
            "mysql --password «hunter22»",
            "mysql --password=«hunter22!»",
            "<password>«hunter2!»</password>",
            "passphrase: '«x9-Kq!!z»'",
            "password: «ab1cdef!:more=x»",
            'password="«hunter2»',
            "SMTP_PASS=«<l12>»",
            "Server=db;User Id=sa;Password=«Str0ng!<a6>»;Encrypt=true",
            'add key="Password" value="«<a12>»"',
            "- name: DB_PASSWORD\n  value: «<a12>»",
            "Passwort: «<a10>»",
            "mot de passe : «<a10>»",
            "the password is «hunter22».",
            "Passwort: «My<l6>_<l6>81!»",
            "Le mot de passe est «<l6>-<l6>-45»",
            "La password del server è «<a11>»",
            "Password do servidor é «<l5>_<l6>#9»",
            "password for the vpn should be «<l6>-<l5>-2»",
            "I changed the password to «<a10>!x»",
            "the admin password's «<a10>»",
            "pass is «<a10>»",
            '<property name="connection.password">«<l6>-<l5>-45»</property>',
            '<entry key="db.password"><value>«<a12>»</value></entry>',
            "<key>Password</key>\n\t<string>«<a12>»</string>",
            '{"name": "DB_PASSWORD", "value": "«<a12>»"}',
            r"{\"name\": \"DB_PASSWORD\", \"value\": \"«<a12>»\"}",
            "12\t- name: DB_PASSWORD\n13\t  value: «<l6>-<l5>-45»",
            'the password is "«swordfish»"',
            "Das Passwort für den Server lautet «<a10>».",
            "le mot de passe est «<a10>».",
            "| password | «<a12>» |",
            "**Password:** `«<a10>»`",
            "Password:\n«hunter22»",
            "ENV DB_PASSWORD «<a12>»",
            "password=«<a12>…»".replace("…»", "»…"),
            "setPassword('«<a12>»')",
            "getenv('DB_PASSWORD', '«<a12>»')",
            "${DB_PASSWORD:-«<a12>»}",
            "password%3D«<a12>»%26user%3Dx",
            "DB_PASSWORD=«correct-horse-battery-staple»",
            'smtp_password: "«abcd efgh ijkl mnop»"',
            "if (pass === '«<a10>!x») {".replace("») {", "»') {"),
            'if [ "$PASSWORD" == "«<a10>!x»" ]; then',
            "expect(user.password).toBe('«<a10>!x»')",
            "cy.get('[data-cy=login-password]').clear().type('«<a10>!x»')",
            'app.secureTextFields["Password"].typeText("«<a10>!x»")',
            'onView(withId(R.id.password)).perform(typeText("«<a10>!x»"))',
            '{"user": "bob", "password": "«{<a6>,<a6>»"}',
            r"{\"password\": \"«}<a6>:<a6>»\"}",
            "DB_PASSWORD=«-<a6>!<a5>»",
            "DB_PASSWORD='«[<a6>)<a7>»'",
            "Server=db;User Id=sa;Password=«&<a5>$<a5>&<a4>»;Encrypt=true",
            "SERVER=db;PASSWORD=«%<a5>&<a6>»;UID=sa",
            "the password is «%<a5>+<a6>»",
            "password: «kitten6»",
            "password: «Falke_7»",
            "password: «blue.harbor»",
            '"password": "«Zander_Fluss»"',
            "RESTIC_PASSWORD=«Sandbank/2» restic snapshots",
            "SMTP_PASSWORD='«it has spaces & 9 #marks»'",
            "PGPASSWORD='«Salz & Pfeffer 3»' pg_dump -h db",
            'let password = String::from("«Maraene_4»");',
            "account acme\nuser bob\npassword «Kormoran_5»\n",
            "Key         Value\n---         -----\ndb_pass     «vogel;Kette91»\n",
        ),
        others=(
            "password: sha256",
            "password: Token1",
            "password: mysql8",
            "password: vault.prod",
            "password: test.example",
            '"password": "signup.label2"',
            "password: !GetAtt Db",
            "password: z.string().min(8).max(128)",
            "pattern: password=[A-Za-z0-9]{8,}",
            "password = blue_harbor",
            "const { password: newPassword1 } = req.body",
            "the password is node18.",
            'WRONG_PASSWORD="Use 8 characters & more"',
            'DB_PASSWORD="$(pass show shop 3)"',
            'BAD_PASSWORD="You cannot log in & try 3 more"',
            "password varchar2",
            "password_hash = bcrypt.hashpw(raw, salt1)",
            "password_encryption = scram-sha-256",
            "password: ENC[AES256_GCM,data:<b20>,iv:<b43>=,type:str]",
            "db.password=ENC(<b44>)",
            "password: vault:secret/data/db#password2",
            "if (password === other_password2) {",
            "if (password !== 'text2') {",
            "$ docker secret create db_password x\n<l25>",
            'password_hash: "9f86d081884c7d659a2feaa0c55ad015"',
            "password = get_password(user1)",
            "password=password1",
            "connect(password=userinput2, api_key=oauth2key)",
            'password: "Enter your password 2 times"',
            "DB_PASSWORD=${DB_PASSWORD1}",
            "DB_PASSWORD=$(cat /run/secrets/db1)",
            'password = "********"',
            "password reset2 mail was sent",
            "--password-file secrets1.txt",
            "password: -1a2b3c4d",
            "password=",
            "the password is required",
            "the password is wrong.",
            "the password is 8 characters long",
            "the password hash is a1b2c3d4e5f6",
            "the password manager is keepass2-x",
            "a link to reset the password was sent to bob42@example.com",
            "password: arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-a1B2c3",
            "<password>__DB_PASSWORD_1__</password>",
            "<password>%DB_PASSWORD_2%</password>",
            "<password>DB_PASSWORD_1</password>",
            '<input name="password">text2023',
            '<label for="password">Field-no-12345</label>',
            "Pass them to `WriteCommitted`",
            "build the set once and pass it to `findBranch2`",
            "add the token to `request_headers_of_v2_2024`",
            "the second pass is `fold_constants`",
            "send the password to smtp-relay-2",
            "PASS: test_login_v2",
            "bypass=route66x",
            "compass: north4west",
            "passport_number: X1234567",
            'autocomplete="new-password" id="field2"',
            'if password != "": raise ValueError2',
            "DB_PASSWORD=<password>",
            "POSTGRES_PASSWORD=postgres",
            "password: required",
        ),
    ),
    _name(
        "password",
        "pw",
        word=r"pwd?",
        examples=("Pwd=«<a10>»;", "MYSQL_PWD=«hunter22»", "db_pw: «<a10>»"),
        others=("PWD=/home/user/project1", "pwd: src/main2", "hpw = 12345678"),
    ),
    _name(
        "password",
        "psk",
        word=r"psk",
        examples=('psk="«<a12>»"',),
        others=("task psk: none",),
        head=r"(?:^|[_-])$",
    ),
    _foreign("contrase", r"contrase(?:ñ|n|ny|nh)as?", "contraseña: «<a10>»", "La contraseña es «<a10>»."),
    _foreign("senha", r"senha", "senha: «<a10>»", "A senha é «<a10>»."),
    _foreign("wachtwoord", r"wachtwoord", "wachtwoord: «<a10>»", "Het wachtwoord is «<a10>»."),
    _foreign("kennwort", r"kennwort", "Kennwort: «<a10>»", "Das Kennwort ist «<a10>»."),
    _foreign(
        "密码",
        r"密码",
        "密码：«<a10>»",
        "数据库密码是«<a10>»。",
        "密码: «<a10>»",
        "root 的密码已改为 «<a10>»",
        "密码：«<a10>»，请保管",
        others=("密码：至少8位，包含数字", "密码: 请输入6位以上"),
    ),
    _foreign("密碼", r"密碼", "密碼：«<a10>»"),
    _foreign("口令", r"口令", "口令：«<a10>»"),
    _foreign(
        "パスワード",
        r"パスワード",
        "パスワード：«<a10>»",
        "パスワードは «<a10>» です。",
        "パスワードは「«<a10>»」です",
        others=("パスワード: 8文字以上で入力してください", "パスワード: 英数字8文字以上"),
    ),
    _foreign("暗証番号", r"暗証番号", "暗証番号は«<a10>»です"),
    _foreign("비밀번호", r"비밀번호", "비밀번호: «<a10>»", "비밀번호는 «<a10>» 입니다"),
    *(
        _foreign(anchor, word, *(f"{said}: «<a10>»" for said in names))
        for anchor, word, names in (
            ("كلمة", r"كلمة (?:المرور|السر)", ("كلمة المرور", "كلمة السر")),
            ("סיסמ", r"סיסמ(?:ה|א|ת)", ("סיסמה", "הסיסמה")),
            ("رمز", r"رمز عبور", ("رمز عبور",)),
            ("पासवर्ड", r"पासवर्ड", ("पासवर्ड",)),
            ("পাসওয়ার্ড", r"পাসওয়ার্ড", ("পাসওয়ার্ড",)),
            ("รหัสผ่าน", r"รหัสผ่าน", ("รหัสผ่าน",)),
            ("ωδικός", r"ωδικός(?: πρόσβασης)?", ("κωδικός", "Κωδικός πρόσβασης")),
            ("арола", r"(?<=[пП])арола", ("парола",)),
            ("озинк", r"(?<=[лЛ])озинка", ("лозинка",)),
            ("패스워드", r"패스워드", ("패스워드",)),
            ("암호", r"암호", ("암호",)),
            ("비번", r"비번", ("비번",)),
            ("パスフレーズ", r"パスフレーズ", ("パスフレーズ",)),
            ("t kh", r"(?<=[ậạ])t kh[ẩa]u", ("mật khẩu",)),
            ("kata s", r"kata sandi", ("kata sandi",)),
            ("kata l", r"kata laluan", ("kata laluan",)),
            ("parol", r"parol(?:a|ă|ă|e|i|ja)(?![a-z])", ("parola", "parolă")),
            ("jelsz", r"jelsz[óo]", ("jelszó",)),
            ("passord", r"passord(?:et)?", ("passord",)),
            ("kodeord", r"kodeord(?:et)?", ("kodeord",)),
            ("lozink", r"lozinka", ("lozinka",)),
            ("geslo", r"geslo", ("geslo",)),
            ("slapta", r"slaptažodis", ("slaptažodis",)),
            ("parool", r"parool", ("parool",)),
            ("contrase", r"contrase(?:nya|ña|na)", ("contrasenya",)),
            ("lykilor", r"lykilorð", ("lykilorð",)),
            ("nenosiri", r"nenosiri", ("nenosiri",)),
            ("zugangscode", r"zugangscode", ("Zugangscode",)),
        )
    ),
    *(
        _name("API key", anchor, word=word, least=12, examples=tuple(f"{said} «<a24>»" for said in names))
        for anchor, word, names in (
            ("schl", r"schlüssel", ("Der API-Schlüssel ist", "API-Schlüssel:", "Zugriffsschlüssel:")),
            (
                "clé",
                r"(?<![a-z])clé(?: API| secrète| d['’]accès| privée)",
                ("La clé API est", "clé secrète :"),
            ),
            ("clave", r"clave (?:de )?(?:API|secreta|privada|acceso)", ("La clave API es", "clave secreta:")),
            ("chiave", r"chiave (?:API|segreta|privata|di accesso)", ("La chiave API è", "chiave segreta:")),
            (
                "chave",
                r"chave (?:(?:de|da) )?(?:API|secreta|privada|acesso)",
                ("A chave de API é", "chave secreta:"),
            ),
            ("密钥", r"密钥", ("密钥：", "API 密钥是 ")),
            ("密鑰", r"密鑰", ("密鑰：",)),
            ("秘钥", r"秘钥", ("秘钥：",)),
            ("令牌", r"令牌", ("令牌：", "访问令牌为 ")),
            (
                "キー",
                r"(?<=API)キー|(?<=API )キー|(?<=シークレット)キー|(?<=アクセス)キー|(?<=秘密)キー",
                ("APIキー：", "アクセスキーは "),
            ),
            ("トークン", r"トークン", ("トークン：", "トークンは ")),
            ("シークレット", r"シークレット", ("シークレット：",)),
            ("토큰", r"토큰", ("토큰:", "토큰은 ")),
            ("люч", r"(?<=[кК])люч", ("ключ:", "API-ключ:")),
            ("окен", r"(?<=[тТ])окен", ("токен:",)),
            ("екрет", r"(?<=[сС])екрет", ("секрет:",)),
        )
    ),
    _foreign("ароль", r"(?<=[пП])ароль", "пароль: «<a10>»", "Пароль от сервера: «<a10>»", "Пароль — «<a10>»"),
    _name(
        "password",
        "mdp",
        word=r"mdp",
        head=r"(?:^|[_-])$",
        examples=("mdp: «<a10>»", "le mdp est «<a10>»"),
        others=("mdp oublié ?", "an mdp is a decision process"),
    ),
    _foreign(
        "ключ ",
        r"ключ (?:от )?(?:вай-?фа[йяею]+|wi-?fi)",
        "Новый ключ вайфая «3210471618»",
        "ключ от wifi: «<a10>»",
    ),
    _foreign(
        "ww", r"(?<![A-Za-z0-9])ww(?![A-Za-z0-9])", "inloggen met beheer en ww «Fietsbel99!»", "ww: «<a10>»"
    ),
    _foreign("parola d", r"parola d['’]ordine", "parola d'ordine: «<a10>»"),
    _name(
        "secret value",
        "secret",
        word=r"secret",
        least=8,
        examples=(
            'SECRET_KEY: "«django-insecure-8&x1%kd9@2lq»"',
            "aws_secret_access_key = «<a36>/x+Z»",
            "JWT_SECRET_PROD=«<a24>==»",
            "clientSecret: '«<a24>»'",
            "otpauth://totp/acme:bob?secret=«<a32>»&issuer=acme",
        ),
        others=(
            'secret = "my-app-secret-v2"',
            "checksum/secret: <h64>",
            "secret: /run/secrets/db_password_1",
            "secret: ./secrets/file1.txt",
            "secretKeyRef: {name: db-secret-1, key: password1}",
            "secret::std::module1",
            "secretName: my-tls-certificate-2024",
            "secretsmanager:us-east-1:123456789012",
        ),
    ),
    _name(
        "token",
        "token",
        word=r"token",
        least=16,
        examples=(
            "CI_JOB_TOKEN=«<a24>»",
            '"access_token": "«<a36>»"',
            "VAULT_TOKEN=«s.<a24>»",
            "X-Auth-Token: «<h32>»",
            "?token=«<a32>»&x=1",
            "--token «<a32>»",
        ),
        others=(
            "token_count = 5",
            '"input_tokens": 123456789012345678',
            "max_tokens=4096000000000000000",
            "token = request.headers.token2",
            "def login(user: str, password: str, token: str | None = None) -> Token1:",
            'if token == "identifier4":',
            "the token: a unit of text, about 4 characters",
            "--token -v1",
            "tokenizer: o200k_base_with_a_long_name_1",
            "page_token = next_page_token_from_the_reply",
            "TOKEN_TYPE=refresh_token_1234567890",
            "Promise<Token>1",
            "self.token = token_factory.make()",
            'nextPageToken: "CAoQAAabcdef123456ghij"',
        ),
    ),
    _name(
        "API key",
        "key",
        word=r"key",
        least=12,
        examples=(
            "?api_key=«<a24>»&q=1",
            'apiKey: "«<a24>»"',
            "X-Api-Key: «<a24>»",
            "AccountName=a;AccountKey=«<a48>==»;X=1",
            "DATADOG_APP_KEY=«<h40>»",
            "HEROKU_API_KEY=«<h8>-<h4>-<h4>-<h4>-<h12>»",
            "PrivateKey = «<a43>=»",
            "api key: «<h32>»",
            "SharedAccessKey=«<a43>=»",
            "Ocp-Apim-Subscription-Key: «<h32>»",
        ),
        others=(
            'os.environ["API_KEY"]',
            "gpg: using RSA key 4AEE18F83AFDEB234AEE18F83AFDEB234AEE18F8",
            "signing key: 0x4AEE18F83AFDEB23",
            "RSA key fingerprint is SHA256:a1B2c3D4e5F6a1B2c3D4e5F6a1B2c3D4e5F6a1B2c3D",
            "api_key = os.environ.get('API_KEY2')",
            "api_key=process.env.OPENAI_API_KEY1",
            'api_key = "your-api-key-123"',
            'api_key = "test-key-1"',
            "api_key: sk-xxxxxxxxxxxxxxxxxxxxxxxx",
            "cache_key: linux-node-9f86d081884c7d65",
            "CACHE_KEY=9f86d081884c7d659a2feaa0c55ad015",
            "PRIMARY_KEY=9f86d081884c7d659a2f",
            "$ echo $PRIVATE_KEY | wg pubkey\n<b43>=",
            "public_key: <a43>=",
            "keyboard: layout1234567890ab",
            "sort_key = <a24>",
        ),
    ),
    *(
        _name(
            "token",
            f"{sign}pat",
            word=rf"{sign}pat(?![a-z])",
            least=20,
            examples=(f"GH{sign}PAT: «<a40>»", f'"azdo{sign}pat": "«<l52>»"', f"DEVOPS_EXT{sign}PAT=«<l52>»"),
            others=(
                f"file{sign}pat = compile_pattern_number_2024",
                f"url{sign}pat=r'[a-z0-9]{{4}}-[a-z0-9]{{12}}-x'",
                f"MY{sign}PAT: see the vault",
            ),
        )
        for sign in "_-"
    ),
    _name(
        "credentials",
        "auth",
        word=r"auth(?![a-z])",
        head=r"[_-]$",
        least=16,
        examples=("NPM_AUTH=«<a26>»", "registry_auth: «<a32>»"),
        others=("basic_auth: required-for-all-users", "HTTP_AUTH=disabled", "x_auth = get_auth_of_request()"),
    ),
    _name(
        "password",
        "authtok",
        word=r"authtok(?:en)?(?![a-z])",
        head=r"[_-]$",
        examples=("ldap_default_authtok = «<a12>»",),
        others=("pam_authtok = required", "ldap_default_authtok_type = password"),
    ),
    *(
        _foreign(anchor, word, *(f"{said}«<a12>»" for said in names))
        for anchor, word, names in (
            (
                "clé ",
                r"clé (?:du |de la |de )?(?:wi-?fi|box|réseau)",
                ("clé wifi : ", "la clé de la box est "),
            ),
            ("chiave ", r"chiave (?:del |di |della )?(?:wi-?fi|rete)", ("chiave del wifi: ",)),
            ("chave ", r"chave (?:do |da |de )?(?:wi-?fi|rede)", ("chave do wifi: ",)),
            ("clave ", r"clave (?:del |de la |de )?(?:wi-?fi|red)", ("clave del wifi: ",)),
        )
    ),
    _foreign("senord", r"senord(?:et)?", "Lösenord: «<a10>»", "Lösenordet är «<a10>»"),
    _foreign("heslo", r"heslo", "heslo: «<a10>»"),
    _foreign("has?o", r"hasło", "hasło: «<a10>»", "hasło to «<a10>»"),  # as `Source.lower` writes it
    _foreign("haslo", r"haslo", "haslo: «<a10>»"),
    _foreign("salasana", r"salasana(?: on)?", "salasana: «<a10>»", "salasana on: «<a10>»"),
    _foreign(
        "adgangskode",
        r"adgangskoden?",
        "adgangskode: «<a10>»",
        "Adgangskoden er «<a10>»",
    ),
    _foreign("ifre", r"(?<=[şsŞS])ifre(?:si|niz|m)?", "şifre: «<a10>»", "sunucu şifresi: «<a10>»"),
    _name(
        "credentials",
        "cred",
        word=r"cred(?:ential)?s?",
        least=12,
        examples=('GIT_CREDENTIALS="«<a32>»"',),
        others=("credentials: include", "credentials: same-origin", "credit: card1234567890abc"),
    ),
    *(
        _name(
            kind,
            anchor,
            word=word,
            head=head,
            least=16,
            examples=tuple(f"{said}«<a32>»" for said in names),
            others=tuple(f"{said}{value}" for said in names for value in ("the-name-of-an-item", "42")),
        )
        for kind, anchor, word, head, names in (
            (
                "secret value",
                "salt",
                r"salt",
                r"(?:^|[_.-]|password|secret)$",
                ("HASHIDS_SALT=", "passwordsalt=", 'salt: "', "session-salt = "),
            ),
            ("secret value", "pepper", r"pepper", r"(?:^|[_.-])$", ("PASSWORD_PEPPER=", "pepper: ")),
            ("secret value", "seed", r"seed", r"(?:^|[_.-])$", ("COOKIE_SEED=", '"master_seed": "')),
            (
                "signature",
                "sig",
                r"sig(?:nature)?(?:[_-]256)?",
                r"(?:hook|hub|hmac|request|callback)[_-]$",
                ("WEBHOOK_SIG=", "hook_signature: "),
            ),
            ("token", "jeton", r"jeton(?: d['’]accès)?", "", ("Jeton : ", "Le jeton d'accès est ")),
            ("secret value", "secreto", r"secreto", "", ("secreto: ", "El secreto es ")),
            ("secret value", "segreto", r"segreto", "", ("segreto: ", "Il segreto è ")),
            ("secret value", "segredo", r"segredo", "", ("segredo: ", "O segredo é ")),
            ("secret value", "geheimnis", r"geheimnis", "", ("Geheimnis: ", "Das Geheimnis ist ")),
            ("token", "csrf", r"[cx]srf", r"(?:^|[_.-])$", ('"csrf": "',)),
            (
                "token",
                "verifier",
                r"verifier",
                r"(?:code|oauth|pkce)[_-]?$",
                ('"code_verifier": "', "oauth_verifier="),
            ),
        )
    ),
    *(
        _name(
            kind,
            anchor,
            word=word,
            least=16,
            sure=False,
            examples=tuple(f"{said}«<a32>»" for said in names),
            others=tuple(
                f"{said}{value}" for said in names for value in ("the-name-of-an-item", "an-opaque-value")
            ),
        )
        for kind, anchor, word, names in (
            ("token", "refresh", r"refresh", ('{"refresh": "',)),
            ("session id", "session_id", r"session_id", ('"session_id": "',)),
            ("token", "jwt", r"jwt", ("jwt: ",)),
            ("credentials", "login", r"login", ("SONAR_LOGIN=",)),
            ("credentials", "dsn", r"dsn", ("DSN=",)),
        )
    ),
    _name(
        "session id",
        'sessionid"',
        word=r"sessionid",
        accept=is_session,
        examples=('{"name":"sessionid","value":"«<l32>»","domain":"x"}', '"sessionid": "«<a32>»"'),
        others=('"sessionId": "123e4567-e89b-12d3-a456-426614174000"', "sessionid: the_name_of_2_sessions"),
    ),
    *(
        _name(
            "session id",
            anchor,
            word=r"sid",
            head=r"(?:^|[^A-Za-z0-9]|connect\.|session_?)$",
            accept=is_session,
            examples=(f"{said}«<a28>»", f"{said}«<h32>»"),
            others=(f"{said}SM<h32>", f"{said}AC<h32>", f"{said}ORCL19C", f"{said}the_name_of_2_sessions"),
        )
        for anchor, said in (('sid"', '{"sid": "'), ("sid'", "{'sid': '"), ("sid:", "session:\n  sid: "))
    ),
    *(
        _name(
            "API key",
            anchor,
            word=rf"{word}(?! (?:d[eiu'’] ?|del |della |des |da |do |für )?(?:{_OTHER_KEYS}))",
            accept=is_made_up_key,
            examples=tuple(f"{said}{made}" for said in names for made in ("«<a32>»", "«<h32>»")),
            others=tuple(
                f"{said}{value}" for said in names for value in ("data_di_oggi_2", "app.server.port2")
            ),
        )
        for anchor, word, names in (
            ("chiave", "chiave", ("chiave di OpenWeather: ", "la chiave di backup è ")),
            ("clave", "clave", ("clave de OpenWeather: ", "la clave de Mapbee es ")),
            ("llave", "llave", ("llave de OpenWeather: ", "la llave de Mapbee es ")),
            ("chave", "chave", ("chave do OpenWeather: ", "a chave do Mapbee é ")),
            ("clé", r"(?<![A-Za-z])clé", ("clé de OpenWeather : ", "la clé de Mapbee est ")),
            ("schl", "schlüssel", ("Schlüssel für OpenWeather: ", "der Schlüssel von Mapbee ist ")),
        )
    ),
    _name(
        "secret value",
        "secret",
        word=r"secret[ _-]?id",
        accept=is_uuid,
        examples=("secret_id    «<h8>-<h4>-4<h3>-a<h3>-<h12>»", "SecretID: «<h8>-<h4>-4<h3>-a<h3>-<h12>»"),
        others=("secret_id: prod/db-2024", "SecretId=my-secret-1"),
    ),
    *(
        _name(
            "licence key",
            anchor,
            word=word,
            head=head,
            accept=is_licence,
            examples=tuple(f"{said}«<u5>-A1B2C-<u5>-<u5>-<u5>»" for said in names),
            others=tuple(f"{said}{value}" for said in names for value in ("Apache-2.0", "MIT")),
        )
        for anchor, word, head, names in (
            (
                "licen",
                r"licen[sc]e(?:[ _-]?(?:key|code|no|number))?",
                "",
                ("LICENSE=", "license_key: ", "licence code: "),
            ),
            ("lizenz", r"lizenz(?:schlüssel|code)?", "", ("Lizenz: ", "Lizenzschlüssel: ")),
            (
                "key",
                r"key",
                r"(?:product|windows|activation|office|steam|cd|registration|upgrade)[ _-]?$",
                ("product key: ", "Windows key: ", "activation_key="),
            ),
            ("serial", r"serial(?:[ _-]?(?:key|number|no))?", "", ("serial: ", "Serial number: ")),
        )
    ),
    *(
        _name(
            "one-time code",
            anchor,
            word=word,
            accept=is_code,
            examples=tuple(f"{said}«482913»" for said in names),
            others=tuple(f"{said}{value}" for said in names for value in ("2024", "3", "required")),
        )
        for anchor, word, names in (
            ("otp", r"(?<![a-z])t?otp(?:[_-]?(?:code|value))?", ("OTP: ", '"otp":"', "otp_code=")),
            ("passcode", r"passcode", ("your one-time passcode is ", "passcode: ")),
            ("验证码", r"验证码", ("您的验证码是 ", "验证码：", "验证码为")),
            ("校验码", r"校验码", ("校验码：",)),
            ("動態碼", r"動態碼", ("動態碼：",)),
            ("認証コード", r"認証コード", ("認証コードは ", "認証コード：")),
            ("確認コード", r"確認コード", ("確認コードは ",)),
            ("セキュリティコード", r"セキュリティコード", ("セキュリティコード：",)),
            ("ワンタイム", r"ワンタイム(?:パスワード|コード)", ("ワンタイムパスワードは",)),
            ("暗証番号", r"暗証番号", ("暗証番号：", "暗証番号は")),
            ("인증", r"인증 ?(?:번호|코드)", ("인증번호: ", "인증 코드는 ")),
            ("од подтверждения", r"(?<=[кК])од подтверждения", ("код подтверждения: ",)),
            ("개인", r"개인 ?번호", ("개인번호: ",)),
        )
    ),
)
