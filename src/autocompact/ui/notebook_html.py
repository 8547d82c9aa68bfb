"""How a chat looks below a cell: the style, which takes its colours from JupyterLab or VS Code, and what was thought."""

from __future__ import annotations

from html import escape

from autocompact.chat.highlighting import highlighted
from autocompact.chat.markdown import safe_html
from autocompact.ui.notebook_formulas import formula_html

_LAST_LINE = 120
"""Characters of the thinking that are seen while it is folded."""

_STYLE = """<style>
.autocompact-chat { --line: var(--jp-border-color2, var(--vscode-panel-border, #8886)); --word: var(--jp-mirror-editor-keyword-color, var(--vscode-symbolIcon-keywordForeground, #a0527a)); --text: var(--jp-mirror-editor-string-color, var(--vscode-debugTokenExpression-string, #96613a)); --number: var(--jp-mirror-editor-number-color, var(--vscode-debugTokenExpression-number, #3b7a57)); --soft: var(--jp-mirror-editor-comment-color, var(--vscode-descriptionForeground, #7a7a7a)); --name: var(--jp-mirror-editor-def-color, var(--vscode-symbolIcon-functionForeground, #4a6fa5)); max-width: 52rem; line-height: 1.5; overflow-wrap: anywhere; }
.autocompact-chat .code { border: 1px solid var(--line); border-radius: 6px; margin: .6em 0; overflow: hidden; }
.autocompact-chat .code-head { padding: .15em .8em; font-size: .8em; opacity: .8; border-bottom: 1px solid var(--line); }
.autocompact-chat .code-head:empty { display: none; }
.autocompact-chat.autocompact-chat pre { white-space: pre; overflow: auto; max-height: 30em; margin: 0; padding: .5em .8em; overflow-wrap: normal; }
.autocompact-chat.autocompact-chat pre code { background: none; padding: 0; white-space: inherit; }
.autocompact-chat :is(.code, .formula) { direction: ltr; text-align: start; unicode-bidi: isolate; }
.autocompact-chat .formula { display: block; overflow: auto hidden; margin: .6em 0; padding: .25em 0; }
.autocompact-chat mtd[columnalign="right"] { text-align: right; padding-right: 0; }
.autocompact-chat mtd[columnalign="left"] { text-align: left; padding-left: 0; }
.autocompact-chat.autocompact-chat :is(th, td) { text-align: start; }
.autocompact-chat.autocompact-chat :is(th, td).right { text-align: right; }
.autocompact-chat .task { list-style: none; margin-inline-start: -1.4em; }
.autocompact-chat .table { overflow-x: auto; overflow-wrap: normal; }
.autocompact-chat details { margin: .4em 0; }
.autocompact-chat details > :not(summary) { margin-left: .4em; padding-left: .8em; border-left: 2px solid var(--line); }
.autocompact-chat summary { cursor: pointer; }
.autocompact-chat summary .brief { opacity: .7; font-style: italic; margin-left: .6em; }
.autocompact-chat :is(.k, .kd, .kn, .kr, .kc, .ow) { color: var(--word); }
.autocompact-chat :is(.s, .s1, .s2, .sd, .sb) { color: var(--text); }
.autocompact-chat :is(.mi, .mf, .mh) { color: var(--number); }
.autocompact-chat :is(.c, .c1, .cm, .ch) { color: var(--soft); font-style: italic; }
.autocompact-chat .gi { background: #3fb95033; }
.autocompact-chat .gd { background: #f8514933; }
.autocompact-chat :is(.gu, .gh) { color: var(--soft); }
.autocompact-chat :is(.nf, .nc, .nb, .na, .nt) { color: var(--name); }
</style>"""


def framed(html: str) -> str:
    """``html`` with the style of the chat.

    JupyterLab's MathJax, and that of older notebooks, would make a formula of what stands between the signs of "$5 or $6".
    """
    return f'<div class="autocompact-chat mathjax_ignore tex2jax_ignore">{_STYLE}{html}</div>'


def words_html(text: str) -> str:
    """What a model wrote, as Markdown."""
    return safe_html(text, copy=False, highlight=highlighted, formula=formula_html)


def thinking_html(text: str, *, running: bool = False) -> str:
    """The model's thinking, folded; while it runs, its last line is seen. "" if there is none."""
    if not text.strip():
        return ""
    last = text.rstrip().rpartition("\n")[2].strip()[-_LAST_LINE:]
    label = f'Thinking…<span class="brief">{escape(last)}</span>' if running else "Reasoning"
    return f"<details><summary>{label}</summary><div>{words_html(text)}</div></details>"
