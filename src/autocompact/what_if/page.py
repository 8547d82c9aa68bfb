"""The comparison as one HTML page that loads nothing: a table, the context over time, the cost, and what left.

The drawings are made here; the script of the page only chooses a policy, shows the figures under the pointer, and saves a
drawing as SVG or PNG.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files

import msgspec

from autocompact.core.plurals import plural
from autocompact.sessions import LABELS
from autocompact.ui.pages import document
from autocompact.what_if.documents import prices_of
from autocompact.what_if.drawings import context_drawing, cost_drawing
from autocompact.what_if.figures import Figures, Together, shown, winners
from autocompact.what_if.hovering import context_data, cost_data
from autocompact.what_if.losses import Kept, Loss
from autocompact.what_if.recommending import Recommendation
from autocompact.what_if.replays import Replayed
from autocompact.what_if.simulation import Outcome

MOST_DRAWN = 20
"""Sessions that are drawn; of more only the sum has them all."""

MOST_LOSSES = 60
"""Compactions of one policy that are listed."""

LOSSES = (
    "before request",
    "step",
    "tokens",
    "messages left",
    "needs",
    "rules",
    "what was missing, at request",
)
"""Columns of the table of compactions."""

COLUMNS = (
    ("requests", "requests"),
    ("cost", "cost"),
    ("tokens", "tokens"),
    ("cache_read", "cached"),
    ("cache_written", "in full"),
    ("peak", "peak"),
    ("failed", "fail"),
    ("compactions", "comp"),
    ("breaks", "break"),
    ("needs_share", "needs"),
    ("rules_share", "rules"),
    ("reads_again", "again"),
    ("reads_spared", "spare"),
    ("seconds", "wait"),
)
"""Columns of the table of policies: the figure and its title."""

LEGEND = (
    "Cost is at list prices; of the tokens those cached are read from the provider's cache, the others paid for in full. Fail: "
    "requests that would have failed; what such a row costs bought nothing. Break: compactions that emptied a cache still warm. Needs: the share kept of the names that the "
    "next 40 calls use of what had left. Rules: the share kept of standing instructions. Again: files read again whose "
    "content had left, which a search would have saved; spare: though the context still had them. Bold is best among the policies under which nothing failed."
)


def section_of(result: Replayed, *, number: int) -> str:
    """Render the section of one session.

    Args:
        result: the session under each policy.
        number: of the session on the page.
    """
    outcomes, figures = result.outcomes, result.figures
    chosen = next((i for i, outcome in enumerate(outcomes) if outcome.policy.kind == "engine"), 0)
    hovering = {"contexts": list(map(context_data, outcomes)), "costs": cost_data(outcomes)}
    data = msgspec.json.encode(hovering).decode().replace("<", "\\u003c")
    options = "".join(
        f'<option value="{i}"{" selected" if i == chosen else ""}>{escape(each.name)}</option>'
        for i, each in enumerate(figures)
    )
    parts = (
        f'<section class="session" id="session-{number}">\n<h2>{escape(result.name)}</h2>',
        *_notes(result),
        _table(figures),
        "<h3>The context over time</h3>",
        f'<div class="bar"><label>Policy <select aria-label="Policy">{options}</select></label>{_saving("context")}</div>',
        *_contexts(result, chosen=chosen),
        *_costs(outcomes, figures),
        "<h3>What left with each compaction, and what was needed of it later</h3>",
        *(_left(outcome, index=i, hidden=i != chosen) for i, outcome in enumerate(outcomes)),
        f'<script type="application/json">{data}</script>\n</section>',
    )
    return "\n".join(parts)


def page_of(
    sections: Sequence[str], together: Together | None, *, recommended: Recommendation | None = None
) -> str:
    """The page.

    Args:
        sections: of `section_of`.
        together: the sums over all sessions; None for one session.
        recommended: what to take; None for no advice.
    """
    body = [
        "<h1>What if: one session, several policies</h1>"
        if len(sections) == 1
        else "<h1>What if: sessions under several policies</h1>"
    ]
    if recommended is not None:
        body += _advice(recommended)
    if together is not None:
        body += ["<h2>All sessions together</h2>", _table(together.figures)]
        if together.note:
            body.append(f'<p class="note">{escape(together.note)}</p>')
        if together.sessions > len(sections):
            told = f"The first {len(sections)} of {together.sessions:,} sessions are drawn."
            body.append(f'<p class="note">{told}</p>')
    body += [f'<p class="note">{escape(LEGEND)}</p>', *sections]
    here = files("autocompact.what_if")
    style, script = (here.joinpath(name).read_text("utf-8") for name in ("page.css", "page.js"))
    return document("What if", "\n".join(body), style=style, script=script)


def _advice(found: Recommendation) -> Iterator[str]:
    yield f"<h2>Take “{escape(found.policy.name)}”</h2><p>{escape(found.reason)}</p>"
    if found.changes:
        yield f"<p>In <code>settings.json</code>:</p><pre>{escape(found.settings)}</pre>"


def _notes(result: Replayed) -> Iterator[str]:
    facts = [LABELS[result.format], result.model, plural(result.messages, "message")]
    told = (
        f"{', '.join(filter(None, facts))}, {plural(result.requests, 'request')}. Window {result.window:,} tokens; "
        f"system prompt and tools take {result.fixed:,}."
    )
    prices = prices_of(result.outcomes[0].pricing)
    if prices is not None:
        date = f", {prices['date']}" if prices["date"] else ""
        told += f" Prices: ${prices['input']:g} a million tokens in, ${prices['output']:g} out ({prices['source']}{date})."
    yield f'<p class="note">{escape(told)}</p>'
    for note in result.notes:
        yield f'<p class="note">Note: {escape(note)}.</p>'


def _table(figures: Sequence[Figures]) -> str:
    best = winners(figures)
    head = "".join(f"<th>{title}</th>" for _, title in COLUMNS)
    rows = "".join(
        f'<tr data-policy="{index}"{" class=lost" if each.failed else ""}><td>{escape(each.name)}</td>{"".join(_cells(each, best))}</tr>'
        for index, each in enumerate(figures)
    )
    return (
        f'<div class="scroll"><table class="compare"><thead><tr><th>policy</th>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _cells(figures: Figures, best: dict[str, float]) -> Iterator[str]:
    for column, _ in COLUMNS:
        value = getattr(figures, column)
        is_best = not figures.failed and value is not None and best.get(column) == value
        kind = "failed" if column == "failed" and value else "best" if is_best else ""
        yield f"<td{f' class={kind}' if kind else ''}>{escape(shown(column, value))}</td>"


def _saving(of: str) -> str:
    buttons = "".join(
        f'<button type="button" data-save="{kind}" data-of="{of}">{kind.upper()}</button>'
        for kind in ("svg", "png")
    )
    return f'<span class="push"></span>{buttons}'


def _contexts(result: Replayed, *, chosen: int) -> Iterator[str]:
    """A drawing for each policy, all at one scale; a window far larger than the others' has its own."""
    outcomes = result.outcomes
    usual = max((each.peak for each in outcomes if each.policy.window in (None, result.window)), default=1)
    for index, outcome in enumerate(outcomes):
        drawn = context_drawing(
            outcome, most=max(usual, outcome.peak, 1), window=outcome.policy.window or result.window
        )
        hidden = "" if index == chosen else " hidden"
        yield f'<div class="chart context" data-shows="{index}"{hidden}>{drawn}</div>'


def _costs(outcomes: Sequence[Outcome], figures: Sequence[Figures]) -> Iterator[str]:
    drawn = cost_drawing(outcomes)
    if not drawn:
        return
    for index, each in enumerate(figures):
        if each.kind == "recorded" or (each.kind == "none" and all(f.kind != "recorded" for f in figures)):
            drawn = drawn.replace(
                f'class="cost" data-policy="{index}"', f'class="cost other" data-policy="{index}"'
            )
    yield "<h3>Cost so far</h3>"
    yield f'<div class="bar"><span class="note">The chosen policy in blue; in orange what was recorded, or no compaction. A cross is where requests begin to fail. Rest the pointer on it for what each request cost, and why.</span>{_saving("money")}</div>'
    yield f'<div class="chart money">{drawn}</div>'


def _left(outcome: Outcome, *, index: int, hidden: bool) -> str:
    """The compactions of a policy as a table."""
    opening = f'<div data-shows="{index}"{" hidden" if hidden else ""}>'
    if not outcome.losses:
        return f'{opening}<p class="note">Nothing was compacted.</p></div>'
    rows = "".join(_row(loss) for loss in outcome.losses[:MOST_LOSSES])
    more = len(outcome.losses) - MOST_LOSSES
    note = f'<p class="note">{plural(more, "compaction")} more.</p>' if more > 0 else ""
    again = "".join(
        f"<li>{escape(path)} ({times}×)</li>" for path, times in Counter(outcome.files).most_common(10)
    )
    files_again = f"<p>Files read again after their content had left:</p><ul>{again}</ul>" if again else ""
    head = "".join(f"<th>{name}</th>" for name in LOSSES)
    return (
        f'{opening}<div class="scroll"><table class="left"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        f"{note}{files_again}</div>"
    )


def _row(loss: Loss) -> str:
    missing = [
        *(
            f"<code>{escape(name)}</code>&nbsp;({request:,})"
            for name, request in zip(loss.missing, loss.missed, strict=True)
        ),
        *(f"“{escape(text)}”" for text in loss.unstated),
    ]
    more = loss.needs.needed - loss.needs.kept - len(loss.missing)
    if more > 0:
        missing.append(f"{more} more names")
    cells: Iterable[str] = (
        f"{loss.request:,}",
        loss.rung,
        f"{loss.before:,} → {loss.after:,}",
        f"{loss.left:,}",
        _share(loss.needs),
        _share(loss.rules),
        ", ".join(missing) or "nothing",
    )
    named = zip(LOSSES, cells, strict=True)  # on a narrow screen each is a line of its own
    listed = "".join(f'<td data-name="{name}">{cell}</td>' for name, cell in named)
    return f"<tr>{listed}</tr>"


def _share(kept: Kept) -> str:
    return f"{kept.kept} of {kept.needed}" if kept.needed else "-"
