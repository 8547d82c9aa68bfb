"""The running turn: answer and reasoning so far, and questions of the agent."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Protocol

from nicegui import ui

from autocompact.chat.views import Question, RunningTurn
from autocompact.ui.web.icons import icon
from autocompact.ui.web.render import question_html, reasoning_html, words_html


class Answer(Protocol):
    """Gives the person's answer to a question."""

    def __call__(self, question_id: str, *, allow: bool, remember: bool) -> None:
        """See `autocompact.chat.ChatSession.answer`."""
        ...


class Live:
    """The end of the history while a turn runs.

    Args:
        answer: called with a question's id and the person's answer.
        retry: called when the person wants the last request answered.
    """

    def __init__(self, *, answer: Answer, retry: Callable[[], object]) -> None:
        self.text = self.reasoning = ""
        self.changed = False
        self._began = self._thought = 0.0  # when the thinking began, and how long it took; 0 for not yet
        self._answer = answer
        self._asked: dict[str, ui.element] = {}
        with ui.element("div").classes("live") as self.element:
            self._reasoning = ui.html("")
            self._text = ui.html("")
            self._working = ui.html(_WORKING, sanitize=False).classes("working").props("aria-hidden=true")
            self._questions = ui.element("div")
            with ui.element("div").classes("failure").props("role=alert") as self._failure:
                self._why = ui.html("", tag="span")
                with ui.element("button").classes("secondary").props("type=button") as again:
                    ui.html(f"{icon('retry')} Try again", sanitize=False, tag="span")
                again.on("click", retry, args=[])
        self._failure.set_visibility(False)
        self._working.set_visibility(False)

    def show(self, turn: RunningTurn | None, *, last_seq: int) -> None:
        """Begin from what a running turn has said so far."""
        self.restart()
        self.text, self.reasoning = (turn.text, turn.reasoning) if turn else ("", "")
        self._questions.clear()
        self._asked.clear()
        for question in turn.questions if turn else ():
            self.ask(question)
        self.draw(last_seq=last_seq, running=turn is not None)

    def grow(self, *, text: str = "", reasoning: str = "") -> None:
        """More of the answer; `draw` shows it."""
        if reasoning and not self._began:
            self._began = time.monotonic()
        if text and self._began and not self._thought:
            self._thought = time.monotonic() - self._began
        self.text += text
        self.reasoning += reasoning
        self.changed = True

    def restart(self) -> None:
        """The answer so far is in the log, or void."""
        self.text = self.reasoning = ""
        self._began = self._thought = 0.0
        self.changed = True

    def draw(self, *, last_seq: int, running: bool) -> None:
        """Show what has come."""
        self.changed = False
        so_far = time.monotonic() - self._began if self._began else 0.0
        self._reasoning.content = reasoning_html(
            self.reasoning,
            key="reasoning-live",
            running=not self.text,
            seconds=self._thought or so_far,
        )
        self._text.content = words_html(self.text, last_seq=last_seq, growing=running) if self.text else ""
        self._working.set_visibility(running)
        if running:
            self.fail("")

    def fail(self, why: str) -> None:
        """Say why there is no answer, "" to take that back."""
        self._failure.set_visibility(bool(why))
        self._why.content = words_html(why, last_seq=0) if why else ""

    def ask(self, question: Question) -> None:
        """Show a question with its answers: once, or from now on in this workspace where that is offered."""
        with (
            self._questions,
            ui.element("div").classes("question").props('role=group aria-label="Question"') as asked,
        ):
            self._asked[question.id] = asked
            ui.html(question_html(question))
            with ui.element("div").classes("acts"):
                self._choice("Allow once" if question.subject else "Allow", question, allow=True)
                if question.subject:
                    self._choice("Always here", question, allow=True, remember=True)
                self._choice("Refuse", question, allow=False)
                if question.subject:
                    self._choice("Never here", question, allow=False, remember=True)

    def _choice(self, label: str, question: Question, *, allow: bool, remember: bool = False) -> None:
        style = "primary" if allow and not remember else "secondary"
        with ui.element("button").classes(style).props("type=button") as button:
            ui.html(label, sanitize=False, tag="span")
        if remember:
            place = f" in {question.folder}" if question.folder else ""
            button.props["title"] = f"{label.split()[0]}{place}: {question.subject}"
        button.on("click", partial(self._answer, question.id, allow=allow, remember=remember), args=[])

    def settle(self, question_id: str) -> None:
        """A question was answered, here or in another tab."""
        if question_id in self._asked:
            self._asked.pop(question_id).delete()


_WORKING = '<span class="dots"><i></i><i></i><i></i></span>'
