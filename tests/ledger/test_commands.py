from __future__ import annotations

import pytest

from autocompact.ledger.commands import LONGEST, folder_of, is_check, is_look, parse_checks, short


def covers(later: str, earlier: str) -> bool:
    (done,), (wanted,) = parse_checks(later), parse_checks(earlier)
    return done.covers(wanted)


@pytest.mark.parametrize(
    ("later", "earlier"),
    [
        ("pytest", "pytest -q --tb=short"),
        ("python -m pytest -q", "uv run pytest tests/a.py -x"),
        ("pytest tests", "pytest tests/a.py tests/b.py::test_c"),
        ("pytest tests/a.py", "pytest ./tests/a.py::test_c -k one"),
        ("pytest tests/a.py tests/b.py", "pytest tests/b.py"),
        ("PYTHONPATH=src python3 -m pytest", "python -m pytest tests/a.py"),
        ("go test ./...", "go test ./... -run TestX"),
        ("go test ./... -count=1", "go test ./store/..."),
        ("cargo test", "cargo test one_name"),
        ("cargo +1.90.1 test", "cargo test"),
        ("mise exec -- go vet ./...", "go vet ./..."),
        ("make check --fix", "make check"),
        ("mise run lint", "golangci-lint run ./store/"),
        ("npm run test", "npm test"),
        ("ruff check .", "ruff check src"),
        ("pytest -k one", "pytest -k one -q"),
        ("pytest -k one", "pytest -k 'one_more' -x"),
        ('go test ./... -run "TestX"', "go test ./... -run TestXOfTwo/once"),
        ('git commit -m "other words"', 'git commit -m "some && words"'),
    ],
)
def test_a_check_covers_one_on_no_more(later: str, earlier: str) -> None:
    assert covers(later, earlier)


@pytest.mark.parametrize(
    ("later", "earlier"),
    [
        ("pytest tests/a.py", "pytest"),
        ("pytest tests/a.py", "pytest tests/b.py"),
        ("pytest tests/a.py", "pytest tests/a.pyx"),
        ("pytest -k one", "pytest"),
        ("pytest --lf", "pytest -q"),
        ("pytest --ignore=tests/a.py", "pytest"),
        ("go test ./... -run TestY", "go test ./... -run TestX"),
        ("go test ./... -run TestXOfTwo", "go test ./... -run TestX"),
        ("pytest -k one", "pytest -k 'one or two'"),
        ("pytest -k one", "pytest -m one_more"),
        ("go vet ./...", "go test ./..."),
        ("make build", "make test"),
        ("npm --prefix=web run lint", "cargo clippy --workspace"),
        ("ruff check", "ruff format --check"),
    ],
)
def test_a_check_on_less_or_of_another_kind_covers_nothing(later: str, earlier: str) -> None:
    assert not covers(later, earlier)


def test_a_command_line_can_hold_several_checks_and_what_is_none() -> None:
    assert len(parse_checks("mise run fmt && mise run lint; pytest | grep test || echo check")) == 3
    assert parse_checks("sleep 5 && cat tests") == frozenset()


def test_a_look_is_told_by_its_beginning() -> None:
    assert all(map(is_look, ["git -C /w status", "grep x", "command -v uv", "git config --get a.b"]))
    git = [
        "ls-remote origin 'refs/x/*' 2>&1 | head",
        "check-ignore -v a.md",
        "remote -v",
        "tag --list | head",
        "remote",
    ]
    assert all(is_look(f"git {what}") for what in git)
    assert not any(is_look(f"git {what}") for what in ("remote add a b", "tag v1", "push"))
    assert all(
        map(is_look, ["ps aux | grep deploy", "kubectl -n web get pods", "for f in a b; do cat $f; done"])
    )
    assert not any(
        map(
            is_look,
            ["git commit", "lsx", "grepper", "catalog", "kubectl apply -f a.yaml", "docker compose up"],
        )
    )
    assert is_check("npm run build")
    assert not is_check("sleep 5")


def test_a_long_command_is_shown_cut() -> None:
    assert short("x" * LONGEST) == "x" * LONGEST
    assert short("x" * 500) == "x" * (LONGEST - 1) + "…"


@pytest.mark.parametrize(
    ("command", "folder"),
    [
        ("cd web && npm test", "web"),
        ("cd /repo 2>/dev/null && cd './web/'; npm test", "web"),
        ("cd web\nnpm test", "web"),
        ("npm test && cd web", ""),
        ("cd web", ""),
    ],
)
def test_the_folder_of_a_command_line_is_the_one_it_goes_into_first(command: str, folder: str) -> None:
    assert folder_of(command) == folder


@pytest.mark.parametrize(
    "much", ["cd a\n" * 40_000, "cd a" + "\n" * 200_000, "cd " + "a" * 200_000, "cd a" + " " * 200_000]
)
def test_a_folder_is_found_in_no_time(much: str) -> None:
    assert folder_of(much) in ("", "a")
