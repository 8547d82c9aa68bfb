"""Sentences of users that are standing instructions, and sentences that are none: for the tests, and to learn from."""

from __future__ import annotations

STANDING = {
    "en": """Never push to main without my explicit approval.
Always answer in German from now on.
From now on, use tabs instead of spaces.
Don't commit generated files.
All new code must have type annotations.
Ask me before you delete anything.
You may only edit files under src/.
Please keep your answers short.
Call me Ana.
The release has to be ready by Friday.
I prefer composition over inheritance.
Every commit message must start with the ticket number.
Use British spelling in all documents.
Run the linter before each commit.
Only use the standard library.
no new dependencies please
Whenever you change the schema, update docs/schema.md.
Do not run the e2e tests unless I tell you to.
Under no circumstances log the customer's email.
Never force-push; snake_case on the wire and camelCase in TypeScript.
Feel free to refactor tests without asking.
When you write SQL, use lower-case keywords.
Commits should be signed.
Treat warnings as errors.
Stop adding emojis to the docs.
Please write commit messages in the imperative mood.
I don't want you to touch the CI files.
We don't want if-else chains over agent names.
If you open a pull request, ask me for a title first.
Whenever I say stop, stop.
You may use any library of the standard distribution.
All amounts must be integers.""",
    "de": """Niemals direkt auf main pushen.
Antworte ab jetzt immer auf Deutsch.
Bitte keine neuen Abhängigkeiten einführen.
Frag mich vorher, bevor du etwas löschst.
Die Tests müssen immer grün sein.
Der Build darf nicht länger als fünf Minuten dauern.
Keine Emojis in der Dokumentation.""",
    "fr": """Ne modifie jamais le fichier de configuration.
Réponds toujours en français.
Demande-moi avant de supprimer quoi que ce soit.
Toutes les fonctions doivent avoir des tests.""",
    "es": """Nunca hagas push sin mi permiso.
Responde siempre en español.
No modifiques los archivos de migración.
Todas las funciones deben tener pruebas.""",
    "zh": """永远不要直接推送到 main 分支。
从现在开始请用中文回答。
删除任何东西之前先问我。
不要修改配置文件。
所有函数都必须有测试。""",
    "ja": """絶対にmainにプッシュしないでください。
これからは日本語で答えてください。
削除する前に必ず確認してください。
すべての関数にテストを書くこと。""",
    "ko": "항상 한국어로 대답해 주세요.",
}

FOR_ONCE = (
    """Can you run the tests?
Fix the login bug.
I never saw this error before.
it never worked for me
I don't know why this fails.
The build fails every time.
Don't worry about it.
yes, do it
Let's add a new endpoint for users.
I always get a 404 when I open the page.
It should return 200 but returns 500.
We have three servers.
add a test for the parser
Update the README and commit.
der Test schlägt jedes Mal fehl
pourquoi ça ne marche pas ?
el test falla siempre
测试失败了
テストが失敗しました
My sister is coming on Friday.
no problem
rename it everywhere
that is not what I asked
I think we should use Redis here
look at all of the logs and tell me what you see
I want the formula to be called tap instead of brew
Total usage — Must sum all metadata files — Single value
Run `make check` - no errors
No fixes applied.
Each block must have a result."},"request_id":"req_1"}
No fixes applied.\\n\\n> pkg@0.14.2 check
leave everything as it is until then.
no banker's rounding after all, but round half up
Please write the rule into docs/rounding.md too, so that nobody asks again.
Amounts must be exact integers in the smallest unit, a credit note goes over as type credit_note.
this plan must be written in such a way that you can start any session from it
basically it doesn't require any core change
yes need to be fully clean
If the test fails, stop.
check coverage so we don't break things
Always-PR flow (push a branch, open a PR, gate on merge)
I have multiple options on each item:
If *Bits* = 1 then 251: always returns an array.
the reader of the lab is interdisciplinary and open to all"""
    + """
I’ve always been close to my sister — she’s the one who reads every book.
My mom is the pragmatic one, I’m always reminded of all her advice.
You never know how life unfolds after that.
Any light you can shed on this would be super helpful.
Whenever I reached out with questions, responses were timely.
The construction was completed by October 2015.
I’d rather not relive that experience.
Thanks for any help you can give me.
Meeting ran over by 30 minutes.
Ich möchte eine Kaffeemaschine kaufen.
我喜欢猫。"""
)

TOLD = """we name migrations after the ticket
in this repo we use vitest, not jest
Our events are all camelCase.
timestamps are stored in utc
The billing cluster is shared, so please run nothing heavy on it.
all requests go through the gateway client
Screenshots live next to the story files.
Direct pushes to develop are forbidden.
nothing in the vendored folder
The bundle has to stay under 300 KB.
Release notes: no marketing words please.
Numbers in euros only.
keep the summaries short
before any merge: rebase on main
I'm on a Mac, so homebrew commands please
I'd rather see three small commits than a big one
we're stuck on node 16
you can restart the worker whenever you need
You're free to delete anything under tmp.
answer briefly
more code, less talk
you don't touch the lock file yourself
The freeze starts on Monday.
we have to be done by the end of the year
docs in English
let's agree you only work in packages/api
tell me the cost every time.
pls dont apologise so much
Each module you add needs a readme.
Invoices in this project are immutable
at no point should names be logged
Verzichte auf Fremdwörter.
Ändere bitte niemals die Lizenz.
以后所有说明都用中文
Bei uns heißen Branches nach dem Ticket.
Wir schreiben Tests mit pytest.
Bitte Kommentare nur auf Englisch schreiben.
Die Abgabe ist am Donnerstag.
Ich bin auf Linux, also bitte Bash.
Chez nous, on écrit les tests avec vitest.
Pas de commentaires svp
La réunion est jeudi.
En este proyecto usamos pnpm.
Sin comentarios por favor
La entrega es el lunes.
Sem comentários por favor
Niente commenti grazie
У нас всё на английском
我们这里统一用四个空格
回复简短一点
うちは全部TypeScriptです
返事は短めでお願いします"""

NOT_TOLD = """The build uses node 18.
we used tabs back then, not spaces
let's use tabs here, not spaces
I took the bus at least 30 minutes late
No one knows why.
Passwords must be at least 12 characters long.
Der Knopf darf nie grau sein.
El botón nunca debe estar gris.
密码必须有十二位
Le serveur plante toujours au démarrage.
Esta función siempre falla.
Наш сервер всегда падал.
the tests were green, but no report was written
Everything comes into play here.
昨天我们用了新的接口
线程和进程有什么区别
TypeError: all arguments must be strings in every call
Fehler: Der Name darf nie leer sein.
Ma voisine ferme toujours sa porte.
用户每天最多只能签到一次"""

ASKED = [
    ("can you please stop renaming my variables?", True),
    ("could you keep the methods under 30 lines?", True),
    ("It would be nice if you could always run the linter first", True),
    ("I'd like you to never force-push", True),
    ("no jokes from now on, ok?", True),
    ("Kannst du bitte aufhören, alles zu kommentieren?", True),
    ("Tu peux arrêter de tout commenter ?", True),
    ("¿Puedes dejar de comentar todo?", True),
    ("能不能别到处改名？", True),
    ("can you rename the files by date?", False),
    ("could you look at each of them?", False),
    ("is it done?", False),
]

LOOKS_LIKE_NONE = [
    'Never use the words "leverage and synergy" in error messages.',
    "Error handling: always wrap errors in AppError.",
    "Warning: never touch the prod database.",
    "Passwords must never be logged.",
    "All forms must use the shared validator.",
    "Users must never be deleted from production.",
    "Im Repo nutzen wir immer Tabs, keine Leerzeichen.",
    "Hier bitte niemals direkt auf main pushen, das ist für alle wichtig.",
    "Desde ahora usa siempre comillas simples, por favor, en la aplicación.",
    "Auf main kommt nie ungeprüfter Code.",
    "Abgabe ist am 15. März, bis dahin muss alles stehen.",
]

ENDED_LATER = """Never push to main without my approval.
Never log customer emails.
Never touch the pump driver.
Never push to main.
Never push.
Never shadow a builtin.
Never use emojis.
Never edit a file without asking me.
Never commit generated files.
Also: always run the linter before each commit.
Always indent with tabs.
Immer mit Tabs einrücken.
Keine Abkürzungen.
Call me Ann.
The launch is on Friday.
The launch moved to Monday.
The demo is on Friday.
The exam is on Monday.
Comments in German please.
Use npm for everything.
Use bun instead of npm everywhere.
不要推送代码。
Run the tests before each push.
Never skip the tests.
Call me Sam.
Always call me before you deploy anything.
Never push to the release branch on Fridays.
The release is on Monday.
Never commit npm lockfiles.
Use pnpm instead of npm.
Run npm test before each push.
No trailing spaces.
Use tabs instead of spaces.
Always answer me in German.
Reply to customers in French.
Every page must have a title
Every part must have a title
Never push tool1 to the main branch of the harbour repository while the night crew is on duty and asleep.
Always answer mails about tool2 in formal German, whoever wrote them and however long their question was.
Never delete tool3 backups from cold storage, even if the dashboard warns that the disk has become full.
Do not use floating point
do not touch the docs folder
ask me before you delete a file
Always sort by date.
Do not use them to find the files of a run.
ok - use pnpm instead of npm
also: - name all branches after the ticket"""

RULES = [
    *"\n".join(STANDING.values()).split("\n"),
    *TOLD.split("\n"),
    *ENDED_LATER.split("\n"),
    *LOOKS_LIKE_NONE,
    *(sentence for sentence, is_rule in ASKED if is_rule),
]
NONE = [
    *FOR_ONCE.split("\n"),
    *NOT_TOLD.split("\n"),
    *(sentence for sentence, is_rule in ASKED if not is_rule),
]
