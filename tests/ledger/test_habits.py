"""How programs are called here."""

from __future__ import annotations

import pytest

from autocompact.core.tokens import Estimator
from autocompact.ledger.account import account
from autocompact.ledger.habits import habits
from autocompact.ledger.scan import scan
from tests.core.talk import Talk

COUNTER = Estimator()


def _told(*commands: str) -> tuple[str, int]:
    talk = Talk().user("go")
    for command in commands:
        talk.calls("Bash", {"command": command}).gets("ok")
    return habits(scan(talk.messages).calls)


@pytest.mark.requirement("F6")
@pytest.mark.parametrize(
    ("commands", "told"),
    [
        pytest.param(
            [
                "KUBECONFIG=~/.kube/a.yaml kubectl get pods",
                "KUBECONFIG=~/.kube/a.yaml kubectl get nodes -o name",
            ]
            * 2,
            "`KUBECONFIG=~/.kube/a.yaml kubectl get {nodes,pods}` 4×",
            id="a setting",
        ),
        pytest.param(
            ["cd web && mise run lint", "mise run build | tail -3", "mise run test:e2e"],
            "`mise run {build,lint,test:e2e}` 3×",
            id="a runner with its tasks",
        ),
        pytest.param(
            ["for n in a b; do ssh -o BatchMode=yes kim@$n 'uptime; df'; done"] * 3,
            "`ssh -o BatchMode=yes kim@$n` 3×",
            id="a host within a loop",
        ),
        pytest.param(["docker exec web sudo make"] * 3, "`docker exec web sudo make` 3×", id="no loop"),
        pytest.param([f"npm run x {'a' * 500}"] * 3, "`npm run x` 3×", id="a word that nobody writes anew"),
        pytest.param(["uv run pytest -q"] * 2, "", id="called too seldom"),
        pytest.param(["git status", "ls -la", "cat a | grep b"] * 3, "", id="what is called everywhere"),
        pytest.param(["make", "make", "make"], "", id="nothing but the name"),
        pytest.param(["CI=1"] * 3, "", id="a setting alone"),
        pytest.param(
            [f"helm install r{n} chart" for n in range(9)],
            "`helm install` 9×",
            id="words that never come again",
        ),
    ],
)
def test_what_most_calls_of_a_program_begin_with_is_told(commands: list[str], told: str) -> None:
    assert _told(*commands) == (told, 2 * len(commands) if told else 0)


def test_what_the_user_refused_was_not_run() -> None:
    talk = Talk().user("go")
    for _ in range(3):
        talk.calls("Bash", {"command": "docker push app"}).gets(
            "The user doesn't want to proceed with this tool use."
        )
    assert habits(scan(talk.messages).calls) == ("", 0)


def test_the_programs_called_most_are_told_first() -> None:
    told, _ = _told(*["npm run build"] * 3, *["docker compose up -d"] * 4)
    assert told == "`docker compose up -d` 4×, `npm run build` 3×"


def test_the_account_says_how_programs_are_called() -> None:
    talk = Talk().user("Build it.")
    for _ in range(3):
        talk.calls("Bash", {"command": "uv run --extra dev pytest -q tests/a.py"}).gets("2 passed")
    assert "- often run: `uv run --extra dev pytest -q tests/a.py` 3×" in account(
        talk.ledger, budget=500, counter=COUNTER
    )
