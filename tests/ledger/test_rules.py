"""Standing instructions: told from their form, in several languages, and replaced or ended by later ones."""

from __future__ import annotations

import pytest

from autocompact.core.messages import Text
from autocompact.core.redaction import redact
from autocompact.core.tokens import Estimator
from autocompact.ledger.extraction import extract, rules_of
from autocompact.ledger.rules import MOST, find_rules, is_rule, rules_section
from autocompact.ledger.scan import Said, Speaker
from tests.core.talk import Talk, Words

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
N'efface pas les anciens journaux.
Ne pas modifier les fichiers de configuration.
Merci de ne pas changer les noms des colonnes.
Range les images, et n'ajoute pas de nouvelle dépendance.
Tu ne dois pas pousser sur main.
Je ne veux pas de commentaires dans le code.
Si le fichier est vide, n'écris rien.
Il ne faut jamais supprimer une migration.
Toutes les fonctions doivent avoir des tests.""",
    "es": """Nunca hagas push sin mi permiso.
Responde siempre en español.
No modifiques los archivos de migración.
No puedes tocar la base de datos.
No se debe cambiar la interfaz pública.
Todas las funciones deben tener pruebas.""",
    "pt": """Não altere o esquema do banco.
Use o banco local e não rode as migrações.
O arquivo de configuração não pode ser alterado.
Você não deve tocar no código antigo.
Não quero que você use outra biblioteca.
não faz commit sem eu pedir""",
    "zh": """永远不要直接推送到 main 分支。
不要再改数据库了。
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
L'erreur vient du fait que cette méthode n'existe plus.
Les attributs de cette balise n'acceptent pas de fonction.
Je n'arrive pas à lancer le serveur.
Le menu est cassé car les deux colonnes ne sont pas alignées.
Si le dossier n'existe pas, crée-le.
Tu n'as pas corrigé le pied de page.
el test falla siempre
podes resolver el problema
puedes arreglar el menú de la página
resolve por que el usuario no puede abrir las facturas
pode corrigir o menu da página
Ainda não terminou, está quase.
O teste não funcionou.
a página não abre
não consegui abrir a página
Atualize o plano para não esquecermos dos pontos pendentes.
The old parser has gaps that keep it from being valid.
Failed to open the store: cannot register a session for this folder
What's this count down here... it starts high and never gets to 0
测试失败了
图里框住的那个就不要有了
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


def _rules(*texts: str, by: Speaker = "user") -> list[str]:
    said = [Said(seq=seq, by=by, text=redact(text)) for seq, text in enumerate(texts, start=1)]
    return [str(entry.text) for entry in find_rules(said)]


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("language", STANDING)
def test_a_standing_instruction_is_told_from_its_form(language: str) -> None:
    sentences = STANDING[language].split("\n")
    assert [sentence for sentence in sentences if not is_rule(sentence)] == []


def test_a_file_that_a_client_puts_beside_the_users_words_gives_no_rule_of_theirs() -> None:
    words = (
        "Read it.",
        "--- Content from referenced files ---",
        "Always push to main.",
        "--- End of content ---",
    )
    assert not Talk().add("user", *(Text(text=text) for text in words)).entries("rule")
    assert Talk().add("user", Text(text=words[2])).entries("rule")


def test_what_is_told_of_an_agents_work_is_no_rule() -> None:
    assert not Talk().user("The agent never opened the other files that matched its search.").entries("rule")
    [rule] = Talk().user("The agent never opens a file without asking.").entries("rule")
    assert rule.text == "The agent never opens a file without asking."


def test_what_is_asked_for_once_is_no_rule() -> None:
    assert [sentence for sentence in FOR_ONCE.split("\n") if is_rule(sentence)] == []


def test_rules_are_found_among_other_sentences_each_by_itself() -> None:
    text = "Please fix the parser. Never commit generated files. Thanks!\n\nAlso: always run the linter before each commit."
    assert _rules(text) == [
        "Never commit generated files.",
        "Also: always run the linter before each commit.",
    ]


def test_a_permission_ends_the_prohibition_it_is_about_and_no_other() -> None:
    assert _rules(
        "Never push to main without my approval. Never log customer emails.", "You may push to main now."
    ) == ["Never log customer emails.", "You may push to main now."]


def test_a_permission_for_once_ends_nothing() -> None:
    assert _rules("Never push to main without my approval.", "You may push to main this time.") == [
        "Never push to main without my approval."
    ]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Always answer in German from now on.", "From now on answer in English."),
        ("Keep all functions under 40 lines.", "Keep all functions under 60 lines."),
        ("Niemals direkt auf main pushen.", "Du darfst jetzt auf main pushen."),
        ("不要修改配置文件。", "现在可以修改配置文件了。"),
    ],
)
def test_a_later_word_on_the_same_matter_replaces_the_earlier_one(earlier: str, later: str) -> None:
    assert _rules(earlier, later) == [later]


def test_a_rule_that_is_said_twice_stands_once() -> None:
    assert _rules("Never push to main.", "never push to main") == ["never push to main"]


def test_rules_of_an_earlier_ledger_stay_until_something_ends_them() -> None:
    said = [Said(seq=1, by="user", text=redact("Never push to main. Use pnpm, never npm."))]
    earlier = find_rules(said)
    later = [Said(seq=9, by="user", text=redact("ok, you may push to main now"))]
    assert [str(entry.text) for entry in find_rules([], earlier=earlier)] == [
        "Never push to main.",
        "Use pnpm, never npm.",
    ]
    assert [str(entry.text) for entry in find_rules(later, earlier=earlier)] == [
        "Use pnpm, never npm.",
        "ok, you may push to main now",
    ]


def test_the_models_own_words_make_no_rule_and_a_file_of_instructions_only_plain_ones() -> None:
    assert _rules("I will never push to main.", by="assistant") == []
    instructions = (
        "# AGENTS.md instructions for /srv\n\n- Never commit to main, always open a PR.\n- We use Postgres.\n"
    )
    assert _rules(instructions, by="program") == ["Never commit to main, always open a PR."]
    assert _rules("Never mind: the task has ended.", by="program") == []


def test_a_lead_agents_rule_names_its_speaker() -> None:
    (entry,) = find_rules([Said(seq=4, by="lead", text=redact("Never touch the pump driver."))])
    assert (entry.where, entry.seq, entry.kind) == ("lead", 4, "rule")


def test_of_too_many_rules_those_of_project_files_go_first_and_then_the_oldest() -> None:
    file = "# AGENTS.md\n" + "".join(f"\n- Never use tool{at} for step{at}." for at in range(MOST))
    said = [Said(seq=1, by="user", text=redact("Never push to main."))]
    said.append(Said(seq=2, by="program", text=redact(file)))
    kept = find_rules(said)
    assert len(kept) == MOST
    assert str(kept[0].text) == "Never push to main."
    assert f"tool{MOST - 1} " in kept[-1].text
    assert "tool0 " not in " ".join(entry.text for entry in kept)

    mine = "\n\n".join(f"Never use tool{at} for step{at}." for at in range(MOST + 1))
    assert "tool0 " not in find_rules([Said(seq=1, by="user", text=redact(mine))])[0].text


def test_a_hyphen_after_the_first_words_hides_no_rule() -> None:
    assert is_rule("ok - use pnpm instead of npm")
    assert is_rule("also: - name all branches after the ticket")


def test_rules_that_take_too_much_are_shortened_then_told_in_one_line_and_none_is_left_out() -> None:
    texts = (
        "Never push tool1 to the main branch of the harbour repository while the night crew is on duty and asleep.",
        "Always answer mails about tool2 in formal German, whoever wrote them and however long their question was.",
        "Never delete tool3 backups from cold storage, even if the dashboard warns that the disk has become full.",
    )
    rules = find_rules([Said(seq=at, by="user", text=redact(text)) for at, text in enumerate(texts, 1)])

    def lines(budget: int) -> list[str]:
        return rules_section(rules, budget=budget, counter=Words(), heading="Rules").split("\n")

    assert [line.endswith("asleep. [m1]") for line in lines(100)[1:2]] == [True]
    assert [line.endswith("… [m3]") for line in lines(60)[3:]] == [True]
    (one,) = lines(10)[1:]
    assert [f"tool{at} " in one for at in range(1, 4)] == [True] * 3
    assert one.count(";") == 2


def test_of_too_many_rules_of_project_files_prohibitions_are_told_first_and_none_of_the_user_goes() -> None:
    guide = "# AGENTS.md instructions\n\n## Rules\n- Always use tool1 for builds.\n- Never commit tool2 state.\n- Prefer tool3 for named exports."
    rules = find_rules(
        [Said(seq=1, by="program", text=redact(guide)), Said(seq=2, by="user", text=redact("Never push."))]
    )
    assert len(rules) == 4

    def told(budget: int) -> list[str]:
        section = rules_section(rules, budget=budget, counter=Words(), heading="Rules")
        return [line.removeprefix("- ").partition(" [")[0] for line in section.split("\n")[1:]]

    assert len(told(100)) == 4
    assert told(40) == ["Never commit tool2 state.", "Never push."]
    assert told(10) == ["Never push."]


def test_an_answer_inside_a_tools_result_may_forbid_but_allow_nothing() -> None:
    assert _rules("You may push to main now. Never push to main.", by="reply") == ["Never push to main."]


def test_items_below_a_heading_that_says_they_are_rules_need_no_word_of_their_own() -> None:
    text = """## Working rules
- Use `bun` for package operations.
- Mock graders are useful plumbing.
- Keep modules cohesive.
- Which of these hold for tests?
- ok

## Background
- Use of the old runner ended in May.
"""
    assert _rules(text) == ["Use `bun` for package operations.", "Keep modules cohesive."]


def test_rules_of_a_project_file_below_such_a_heading_are_found_too() -> None:
    text = "# AGENTS.md instructions\n\n## Always-read rules\n- Do not use `git stash` on shared checkouts.\n- Wire formats are snake_case"
    assert _rules(text, by="program") == ["Do not use `git stash` on shared checkouts."]


def test_a_sentence_longer_than_a_rule_is_none() -> None:
    assert _rules(f"Never push to main {'or to any other branch that somebody uses ' * 9}.") == []


def test_a_permission_of_what_nothing_forbade_is_no_rule() -> None:
    assert _rules("Go ahead and rename the folder.") == []


def test_instructions_of_a_client_give_rules_and_its_system_prompt_which_stays_anyway_gives_none() -> None:
    block = "<system-reminder>\n# claudeMd\nContents of CLAUDE.md:\n\nNever push without my approval.\n"
    block += "Always write to `results/<run>/<time>` and never beside it.\n</system-reminder>"
    talk = (
        Talk()
        .add("system", Text(text="Never lie."))
        .user(f"{block}\nAlways answer in French. Please begin.")
        .add("system", Text(text="# Mode\nNever edit a file without asking me."))
    )
    rules = [entry for entry in extract(talk.messages).entries if entry.kind == "rule"]
    assert [*rules_of(talk.messages).entries] == rules
    found = {entry.text: entry.where for entry in rules}
    assert found == {
        "Never push without my approval.": "file",
        "Always write to `results/<run>/<time>` and never beside it.": "file",
        "Always answer in French.": "",
        "Never edit a file without asking me.": "client",
    }


@pytest.mark.parametrize(
    "rule",
    [
        "SAFETY RULE: If a request could harm a third party, stop and escalate.",
        "User preference: a single recommendation over a list of options.",
        "HARD CONSTRAINT: Budget cap is $500 total. Never exceed it without explicit approval.",
        "Richtlinie: Beträge in Cent.",
        "Préférence: les dates au format ISO.",
        "规则：金额以分为单位保存。",
        "ルール：日付はISO形式で書く。",
    ],
)
def test_what_calls_itself_a_rule_is_one_with_all_that_it_says(rule: str) -> None:
    (found,) = find_rules([Said(seq=1, by="user", text=redact(rule))])
    assert found.text == rule


@pytest.mark.parametrize(
    "text",
    [
        "can you review the branch where we use `git add` but don't change the folder tree",
        "`store/rows.py` — 618 — `RowStore.delete()` — Dead code (no callers), fixed for correctness",
        "... }` for the body of an answer, `row_id`, always.",
        "When the target has diverged, it pushes to a new branch (never force-pushing the old one).",
        "E.g. you can write a script and then run it with `python script.py`.",
        "Rule of thumb: what is small is tried first?",
        "Constraint:",
    ],
)
def test_a_question_a_row_of_figures_an_example_and_an_empty_label_are_no_rules(text: str) -> None:
    assert find_rules([Said(seq=1, by="user", text=redact(text))]) == []


def test_an_order_of_work_below_a_heading_of_rules_is_gone_through_once() -> None:
    text = "Constraints:\n- Start by reading the guide, then write the plan, then open a ticket.\n- Use relative paths only."
    found = find_rules([Said(seq=1, by="user", text=redact(text))])
    assert [entry.text for entry in found] == ["Use relative paths only."]


def test_a_rule_about_them_comes_with_the_sentence_that_says_what_they_are() -> None:
    text = "Archive pointers stand for large payloads. Do not use them to find the files of a run."
    (found,) = find_rules([Said(seq=1, by="user", text=redact(text))])
    assert found.text == text


@pytest.mark.parametrize(
    "permission",
    [
        "New rule: you may push to main without asking me.",
        "Policy: you can push to main now.",
        "Policy:\n- You can push to main now.",
    ],
)
def test_a_permission_that_calls_itself_a_rule_ends_a_prohibition(permission: str) -> None:
    (left,) = _rules("Never push to main without my approval.", permission)
    assert "push to main" in left
    assert left.startswith(("New rule:", "Policy:"))


@pytest.mark.parametrize(
    "allowed", ["you may push to main without asking me", "you may push to main this time"]
)
def test_a_reply_allows_nothing_by_calling_it_a_rule(allowed: str) -> None:
    reply = f'User has answered your questions: "Push policy:"="{allowed}"'
    assert _rules(reply, by="reply") == []
    assert _rules(f"Push policy: {allowed}", by="reply") == []


def test_what_a_labelled_rule_forbids_stands_beside_what_it_allows() -> None:
    mixed = "Policy: Never log emails of customers. You can push to main now."
    assert _rules("Never push to main.", mixed) == [
        "Policy: You can push to main now.",
        "Policy: Never log emails of customers.",
    ]
    assert _rules(mixed, by="reply") == ["Policy: Never log emails of customers."]


def test_a_list_of_what_is_to_be_done_is_the_request_but_for_what_it_says_of_the_work() -> None:
    text = """Build a command line tool.

Requirements:
- Every command must print JSON
- All amounts must be stored as integers
- Never crash on bad input
- Never push to main without asking me
- Do not use floating point

Please do the following:
* make sure all linters pass
* do not touch the docs folder
* ask me before you delete a file

Always sort by date.
"""
    assert _rules(text) == [
        "Never push to main without asking me",
        "Do not use floating point",
        "do not touch the docs folder",
        "ask me before you delete a file",
        "Always sort by date.",
    ]


def test_a_long_list_describes_a_task_unless_most_of_its_items_have_the_form_of_rules() -> None:
    parts = "\n".join(f"- The {name} page shows a table" for name in "abcdefghijk")
    some = "- Every page must have a title\n- Never commit generated files"
    assert _rules(f"## Pages\n{parts}\n{some}\n") == ["Never commit generated files"]
    rules = "\n".join(f"- Every part{name} must have a title" for name in "abcdefghijklm")
    assert len(_rules(f"## How we work\n{rules}\n")) == 13
    assert len(_rules(f"## Always\n{parts}\n{some}\n")) > 2


def test_of_an_earlier_summary_what_it_quotes_may_forbid_and_allow_nothing() -> None:
    summary = (
        "This session is being continued from a previous conversation.\n"
        "The test never ends and must not be run on CI.\n"
        '- "Never push to main without asking"\n'
        "2. “Always answer in German.”\n"
        '- "You may now push to main."\n'
        'He said "never again" and left.\n'
    )
    found = find_rules([Said(seq=1, by="summary", text=redact(summary))])
    assert [entry.text for entry in found] == [
        "Never push to main without asking",
        "Always answer in German.",
    ]
    told = rules_section(found, budget=900, counter=Estimator(), heading=redact("Rules"))
    assert "[m1, as an earlier summary quotes it]" in told


REPORT = """Please turn these findings into issues first.

# Review of the store
**Date:** 2026-08-16
## How to read this
Each finding has what is claimed and what is true. Do not take my word for any of it.
## A1. `latencies` is never written
No production code path ever appends to it, so the distance is always exactly zero. That file never executes. Do not cite it as a gate.
The doc claims that `QUORUM` is defined elsewhere and never imported here. Detect support independently for each side.
"""


def test_a_report_that_somebody_hands_on_has_no_rules_but_those_that_order_how_to_work() -> None:
    assert Talk().user(REPORT).entries("rule") == []
    ordered = f"{REPORT}\n## Rules\n- Keep each issue short.\n\n## Before you start\nNever push to main without my approval."
    assert [entry.text for entry in Talk().user(ordered).entries("rule")] == [
        "Keep each issue short.",
        "Never push to main without my approval.",
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "Rationale: four releases drifted because nothing was ever registered without approval.",
        "The last look back found that items were discussed but never registered in the plan.",
        'The rate is not available, cannot report on it." src="https://img.example.com/a.svg">',
    ],
)
def test_what_explains_or_was_pasted_is_no_rule(sentence: str) -> None:
    assert not is_rule(sentence)
    assert not is_rule(sentence, strict=True)


def test_a_rule_ends_where_the_part_of_the_order_ends_that_it_stands_in() -> None:
    talk = Talk().user(
        "<task>Review the diff. Do not modify files.</task>\n<grounding_rules>Never report style.</grounding_rules>"
    )
    assert [entry.text for entry in talk.entries("rule")] == ["Do not modify files.", "Never report style."]


def test_what_an_event_of_the_program_demands_is_an_order_of_it() -> None:
    talk = Talk().user("Mend the parser.").agent("Done.")
    talk.user("<ci-monitor-event>PR #7 has a new comment. Please address it.</ci-monitor-event>")
    last = talk.entries("request")[-1]
    assert (last.text, last.where) == ("PR #7 has a new comment. Please address it.", "lead")


def test_each_answer_to_the_agent_is_a_rule_by_itself_or_none() -> None:
    talk = Talk().user("Publish it.").calls("AskUserQuestion", {"questions": [{"question": "How far?"}]})
    talk.gets(
        'User has answered your questions: "Which files?"="Those of the release are not tracked",'
        ' "Which branch?"="Never push to main without asking". You can now continue.'
    )
    assert [entry.text for entry in talk.entries("rule")] == [
        "Which branch? → Never push to main without asking"
    ]


def test_an_item_of_a_task_that_keeps_something_up_is_no_rule() -> None:
    task = "# Implement a sitemap\n\nRequirements:\n- Serve it at the root.\n- Keep it updated when content is published"
    assert Talk().user(task).entries("rule") == []


def test_marks_of_a_list_that_was_pasted_are_no_wish() -> None:
    assert (
        Talk().user("60 Partial ✓ llms.txt × plugin ✓ structured API × server, only some").entries("wish")
        == []
    )


def test_a_plan_that_is_handed_on_says_nothing_of_later_work() -> None:
    plan = (
        "Implement the following plan:\n\n# Tests of the tool\n## Context\nThe tests exist.\n## Decisions\n"
        "- Skip if the tool is missing — tests skip (not fail), protocol tests always run\n"
    )
    assert Talk().user(plan).entries("rule") == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Cannot find module motion-parts or its corresponding type declarations.",
        "Like for each step there should be a check mark listed.",
        "no just add entire name.",
    ],
)
def test_what_the_outcome_is_to_show_is_no_rule(sentence: str) -> None:
    assert not is_rule(sentence)
