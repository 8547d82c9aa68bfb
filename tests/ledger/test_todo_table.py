from __future__ import annotations

import pytest

from autocompact.ledger.extraction import extract
from autocompact.ledger.todo_table import rows
from tests.core.talk import Talk

_MADE = (
    "INSERT OR REPLACE INTO todos (id, title, description, status) VALUES ('retry', 'Retry it; don''t wait', 'By hand.', "
    "'in_progress'), ('check', 'Check (all)', NULL, 'pending')"
)


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        (_MADE, [("retry", "Retry it; don't wait", "in_progress"), ("check", "Check (all)", "pending")]),
        ("insert into todos (id, description)\nvalues ('a', 'Do a')", [("a", "Do a", "pending")]),
        ("INSERT INTO todos (id, status) VALUES ('a', 'pending')", [("a", "a", "pending")]),
        ("INSERT INTO todos (title) VALUES ('a')", []),
        ("INSERT INTO todos (id, title) VALUES (lower('A'), 'x')", []),
        ("INSERT INTO todo_deps (todo_id, depends_on) VALUES ('a', 'b')", []),
        ("UPDATE todos SET status = 'done' WHERE id = 'retry'", [("retry", "", "done")]),
        (
            "UPDATE todos SET updated = 1, status = 'done' WHERE id IN ('a', 'b'); UPDATE todos SET status='blocked' WHERE id='c';",
            [("a", "", "done"), ("b", "", "done"), ("c", "", "blocked")],
        ),
        (
            "UPDATE todos SET status = CASE id WHEN 'a' THEN 'done' ELSE status END WHERE id IN ('a', 'b')",
            [("a", "", "done")],
        ),
        ("UPDATE todos SET title = 'x' WHERE id = 'a'", []),
        ("UPDATE todos SET status = 'done'", []),
        ("DELETE FROM todos WHERE id = 'a'", [("a", "", "deleted")]),
        ("SELECT id, status FROM todos", []),
        ("SELECT 1", []),
    ],
)
def test_what_a_statement_says_of_todos_is_read(statement: str, found: list[tuple[str, str, str]]) -> None:
    assert rows(statement) == found


def test_todos_in_a_table_are_a_plan_and_go_on_after_a_compaction() -> None:
    talk = Talk().calls("sql", {"description": "Plan", "query": _MADE}).gets("2 rows inserted")
    talk.calls("sql", {"query": "UPDATE todos SET status = 'done' WHERE id = 'retry'"}).gets("1 row")
    talk.calls("sql", {"query": "UPDATE todos SET status = 'done' WHERE id = 'lost'"}).gets("0 rows")
    later = (
        Talk().calls("sql", {"query": "UPDATE todos SET status = 'done' WHERE id = 'check'"}).gets("1 row")
    )
    went_on = extract(later.messages, previous=talk.ledger)
    assert [(e.text, e.state) for e in went_on.entries if e.kind == "todo"] == [
        ("Retry it; don't wait (retry)", "done"),
        ("Check (all) (check)", "done"),
    ]
    talk.calls("sql", {"query": "DELETE FROM todos WHERE id = 'check'"}).gets("no", is_error=True)
    plan = talk.entries("todo")
    assert [(e.text, e.state, e.seq, e.state_seq) for e in plan] == [
        ("Retry it; don't wait (retry)", "done", 1, 3),
        ("Check (all) (check)", "open", 1, 1),
    ]


def test_todos_of_an_application_are_no_plan_and_a_new_one_takes_no_place_of_another() -> None:
    talk = (
        Talk()
        .calls("execute_sql", {"query": "insert into todos (id, title) values (1, 'Buy milk')"})
        .gets("1")
    )
    assert talk.entries("todo") == []
    talk.calls("TaskCreate", {"taskId": "2", "subject": "two"}).gets("ok")
    talk.calls("sql", {"query": "insert into todos (id, title) values ('a', 'Mend it')"}).gets("1")
    assert [entry.text for entry in talk.entries("todo")] == ["two", "Mend it (a)"]


def test_many_quotation_marks_in_a_statement_take_no_time() -> None:
    assert rows("UPDATE todos SET " + "'" * 90_000) == []
    assert rows("UPDATE todos SET " * 9_000) == []
    assert rows("INSERT INTO todos (id) VALUES " + "('a'," * 9_000) == []
