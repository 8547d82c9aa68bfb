"""What the edits of each file amount to, in its newest state."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from autocompact.core.language import WORDS
from autocompact.core.messages import Message, ToolCall, ToolResult
from autocompact.ledger.changes import LARGE, changed_again, definitions, find_changes, without_values
from autocompact.ledger.entries import Entry
from autocompact.ledger.scan import scan
from tests.core.talk import Talk


def _changes(
    *calls: tuple[str, dict[str, object] | str],
    errors: frozenset[int] = frozenset(),
    said: str = "",
    outputs: Sequence[str] = (),
) -> list[Entry]:
    messages: list[Message] = []
    for number, (name, arguments) in enumerate(calls):
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        call = ToolCall(id=f"c{number}", name=name, arguments=text)
        result = ToolResult(
            call_id=call.id, text=outputs[number] if outputs else "done", is_error=number in errors
        )
        messages += [
            Message(seq=2 * number + 1, role="assistant", parts=(call,)),
            Message(seq=2 * number + 2, role="tool", parts=(result,)),
        ]
    return find_changes(scan(messages).calls, words=WORDS["en"], same={}, said={1: said} if said else {})


def _edit(old: str, new: str, *, path: str = "src/a.py") -> tuple[str, dict[str, object]]:
    return "Edit", {"file_path": path, "old_string": old, "new_string": new}


@pytest.mark.requirement("F6")
def test_what_was_defined_is_told_with_what_it_is_for() -> None:
    new = "# Counts the tokens of a reply. More.\ndef count(reply):\n    return 1\n\nclass Usage:\n    prompt: int = 0\n    reply: int = 0\n"
    (entry,) = _changes(_edit("", new), said="add `count` to the meter")
    assert entry.text == (
        "edited — + count(), class Usage; count(): Counts the tokens of a reply.; class Usage {prompt, reply}; “add `count` to the meter”"
    )
    assert (entry.kind, entry.key, entry.seq, entry.need) == ("change", "src/a.py", 1, 0.9)


def test_the_new_lines_that_hold_most_values_are_told_last_and_can_be_left_out() -> None:
    new = (
        'import "context"\n"strings",\nfunc send() {\n  attempts := 0\n  return retry.Do(ctx, retry.Max(10), post)\n'
        '  log.Print("sent it all")\n  if err == ERR_BUSY || n > 512 {\n  wait(3_000)\n  pause(7)\n}'
    )
    (entry,) = _changes(_edit("", new), said="send it anew")
    brief = "edited — + send(); “send it anew”"
    values = '`return retry.Do(ctx, retry.Max(10), post)`, `log.Print("sent it all")`, `if err == ERR_BUSY || n > 512 {`'
    assert entry.text == f"{brief}; with {values}"
    assert without_values(entry.text) == brief
    assert (
        without_values(f"{entry.text}; before that: created — + main()")
        == f"{brief}; before that: created — + main()"
    )
    (entry,) = _changes(_edit("", "# Title\n\nWait 512 seconds, and then 512 more.", path="a.md"))
    assert without_values(entry.text) == entry.text


_COUNT = "def count(reply):\n    return 1"


@pytest.mark.requirement("F6")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        pytest.param("edit", {"filePath": "a.py", "oldString": "", "newString": _COUNT}, id="OpenCode"),
        pytest.param(
            "replace_string_in_file",
            {"filePath": "a.py", "oldString": "x = 1", "newString": _COUNT},
            id="Copilot in VS Code",
        ),
        pytest.param("insert_edit_into_file", {"filePath": "a.py", "code": _COUNT}, id="its older tool"),
        pytest.param(
            "replace_file_content",
            {
                "TargetFile": "a.py",
                "ReplacementChunks": [{"TargetContent": "x = 1", "ReplacementContent": _COUNT}],
            },
            id="Windsurf",
        ),
        pytest.param(
            "write_to_file", {"TargetFile": "a.py", "CodeContent": _COUNT}, id="Windsurf, a new file"
        ),
        pytest.param("edit_file", {"target_file": "a.py", "code_edit": _COUNT}, id="Cursor"),
        pytest.param(
            "StrReplaceFile", {"path": "a.py", "edit": {"old": "x = 1", "new": _COUNT}}, id="Kimi Code"
        ),
        pytest.param(
            "search_replace",
            {
                "file_path": "a.py",
                "content": f"<<<<<<< SEARCH\nx = 1\n=======\n{_COUNT}\n>>>>>>> REPLACE",
            },
            id="Mistral Vibe",
        ),
        pytest.param("insert_content", {"path": "a.py", "line": 3, "content": _COUNT}, id="Roo Code"),
        pytest.param(
            "apply_diff",
            {
                "path": "a.py",
                "diff": "--- a/a.py\n+++ b/a.py\n@@ -1 +1,2 @@\n-x = 1\n+def count(reply):\n+    return 1\n y = 2",
            },
            id="a diff",
        ),
    ],
)
def test_an_edit_is_understood_however_its_agent_names_the_arguments(
    name: str, arguments: dict[str, object]
) -> None:
    (entry,) = _changes((name, arguments))
    assert entry.key == "a.py"
    assert "+ count()" in entry.text


def test_a_comment_of_c_sharp_is_told_without_its_marks() -> None:
    new = "/// <summary>\n/// Counts the tokens.\n/// </summary>\npublic class Meter {\n}"
    (entry,) = _changes(_edit("", new, path="Meter.cs"))
    assert "class Meter: Counts the tokens." in entry.text


def test_text_that_is_put_into_a_file_takes_nothing_out_of_it() -> None:
    (entry,) = _changes(
        _edit("", "def first():\n    pass", path="a.py"),
        ("insert_content", {"path": "a.py", "line": 1, "content": _COUNT}),
    )
    assert "count()" in entry.text
    assert "first()" in entry.text


def test_a_diff_of_several_files_tells_each() -> None:
    diff = "".join(
        f"--- a/{name}.py\n+++ b/{name}.py\n@@ -1 +1 @@\n-x = 1\n\\ No newline at end of file\n+def {name}(): ...\n"
        for name in ("one", "two")
    )
    assert [(entry.key, entry.text) for entry in _changes(("apply", {"patch": diff}))] == [
        ("one.py", "edited — + one()"),
        ("two.py", "edited — + two()"),
    ]


@pytest.mark.parametrize(
    ("name", "key"),
    [("review", "input"), ("search", "input"), ("create_comment", "diff"), ("send_input", "input")],
)
def test_a_diff_that_a_tool_is_handed_to_look_at_changes_nothing(name: str, key: str) -> None:
    diff = "Look at it:\n--- a/one.py\n+++ b/one.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
    assert _changes((name, {key: diff})) == []


def test_a_line_that_a_later_edit_takes_out_is_no_change() -> None:
    (entry,) = _changes(
        _edit("x = 1", "def old():\n    pass"), _edit("def old():\n    pass", "def new():\n    pass")
    )
    assert "old" not in entry.text
    assert entry.text.startswith("edited 2× — + new()")


LONG = "first: the quick brown fox jumps over the lazy dog, and then all of them go in the dark and on foot home to the forest, "


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (f"{LONG}at noon", f"{LONG}at night", "`…home to the forest, at noon` → `…home to the forest, at night`"),
        (f"noon: {LONG}", f"night: {LONG}", "`noon: first: the quick brown…` → `night: first: the quick brown…`"),
        (f"{LONG}1, {LONG}", f"{LONG}2, {LONG}", "`…home to the forest, 1, first: the quick brown…` → `…home to the forest, 2, first: the quick brown…`"),
        (f"{LONG}x", f"{LONG}{LONG}", f"`…home to the forest, x` → `…home to the forest, {LONG[:87]}…`"),
        ("a = [" + "1," * 60 + "]", "a = [" + "2," * 60 + "]", "`a =…` → `a =…`"),
        ("x" + "b" * 130, "y" + "b" * 130, f"`x{'b' * 108}…` → `y{'b' * 108}…`"),
        ("b" * 130 + "x", "b" * 130 + "y", f"`{'b' * 109}…` → `{'b' * 109}…`"),
    ],
)  # fmt: skip
def test_of_a_long_line_what_differs_is_told(before: str, after: str, told: str) -> None:
    (entry,) = _changes(_edit(before, after))
    assert entry.text == f"edited — {told}"


def test_the_same_replacement_in_many_lines_is_told_once() -> None:
    before = "\n".join(f"{name}: {LONG}at noon" for name in ("a", "b", "c"))
    (entry,) = _changes(_edit(before, before.replace("noon", "night")))
    assert entry.text == "edited — `…home to the forest, at noon` → `…home to the forest, at night` 3×"


def test_lines_that_are_shown_alike_are_shown_once() -> None:
    lines = "\n".join(f"say({LONG + LONG!r}, {number})" for number in range(3))
    (entry,) = _changes(_edit("", lines))
    assert entry.text.count("the quick brown fox") == 1


def test_a_short_replacement_is_told_word_for_word() -> None:
    (entry,) = _changes(_edit("limit = 3", "limit = 5"))
    assert entry.text == "edited — `limit = 3` → `limit = 5`"


def test_what_went_and_what_changed_is_told() -> None:
    (gone,) = _changes(_edit("def old(a):\n    return a\n", ""))
    assert gone.text.startswith("edited — − old()")
    (changed,) = _changes(_edit("def f(a):\n    return a + first", "def f(a, b):\n    return a + b + second"))
    assert "changed f()" in changed.text


def test_lines_without_a_definition_are_told_by_those_that_say_most() -> None:
    new = "x: 1\n# retry five times when the network of the office is down\ny: 2\nz: 3\n# and log every retry with its reason"
    (entry,) = _changes(_edit("a: 1", new, path="conf.yaml"))
    assert "retry five times" in entry.text
    assert "log every retry" in entry.text


def test_lines_that_only_went_are_told() -> None:
    (entry,) = _changes(_edit("keep\nremove_this_setting = true", "keep"))
    assert entry.text == "edited — without `remove_this_setting = true`"


def test_titles_are_sections_of_documents_and_comments_of_nothing_else() -> None:
    (guide,) = _changes(("Write", {"file_path": "docs/guide.md", "content": "# Install\n\nRun it.\n"}))
    (script,) = _changes(
        ("Write", {"file_path": "run.sh", "content": "# Install everything\nset -e\nmake all of it\n"})
    )
    assert guide.text.startswith('created — + section "Install"')
    assert "section" not in script.text


def test_patches_of_several_files_are_read() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n keep\n-old = 1\n+new = 1\n*** Add File: b.py\n+def made():\n+    pass\n*** End Patch"
    first, second = _changes(("apply_patch", {"input": patch}))
    assert (first.key, first.text) == ("a.py", "edited — `old = 1` → `new = 1`")
    assert (second.key, second.text.startswith("created — + made()")) == ("b.py", True)
    assert [entry.key for entry in _changes(("apply_patch", patch))] == ["a.py", "b.py"]


def test_several_edits_in_one_call_are_read() -> None:
    edits = [
        {"old_string": "a = 1", "new_string": "a = 2"},
        {"oldText": "b = 1", "newText": "b = 2"},
        "odd",
        {},
    ]
    (entry,) = _changes(("MultiEdit", {"file_path": "a.py", "edits": edits}))
    assert entry.text == "edited — now `a = 2`, `b = 2`"


def test_a_call_that_only_read_changed_nothing() -> None:
    assert _changes(("Read", {"file_path": "a.py"})) == []


def test_of_an_edit_that_failed_it_is_told_what_it_tried_until_another_one_succeeds() -> None:
    failed = frozenset({1})
    (tried,) = _changes(_edit("a = 1", "a = 2"), errors=frozenset({0}))
    assert tried.text == "not applied m1 — `a = 1` → `a = 2`"
    (both,) = _changes(_edit("a = 1", "a = 2"), _edit("b = 1", "b = 2"), errors=failed)
    assert both.text == "edited — `a = 1` → `a = 2`; not applied m3 — `b = 1` → `b = 2`"
    again = _changes(_edit("a = 1", "a = 2"), _edit("b = 1", "b = 2"), _edit("b = 1", "b = 3"), errors=failed)
    assert [entry.text for entry in again] == ["edited 2× — now `a = 2`, `b = 3`"]
    assert _changes(_edit("x", "x"), errors=frozenset({0})) == []


def test_an_edit_whose_output_says_that_nothing_was_changed_changed_nothing() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n-a = 1\n+a = 2\n*** End Patch"
    told = "apply_patch verification failed: Failed to find expected lines in a.py"
    (entry,) = _changes(("apply_patch", patch), outputs=[told])
    assert entry.text == "not applied m1 — `a = 1` → `a = 2`"


@pytest.mark.parametrize(
    ("report", "told"),
    [
        ("I took the timing out of a.py.", "edited — edited here before a sub-agent worked on it, see m3"),
        ("I looked at data.py and a.pyi.", "edited — `a = 1` → `a = 2`"),
    ],
)
def test_what_a_sub_agent_did_to_a_file_later_is_not_told_away(report: str, told: str) -> None:
    spawn: tuple[str, dict[str, object]] = "Task", {"description": "Tidy", "prompt": "Tidy up, please."}
    (entry,) = _changes(_edit("a = 1", "a = 2"), spawn, outputs=["done", report])
    assert entry.text == told


def test_an_edit_after_a_sub_agents_work_says_what_it_did() -> None:
    spawn: tuple[str, dict[str, object]] = "Task", {"description": "Tidy", "prompt": "Tidy up src/a.py."}
    (entry,) = _changes(_edit("a = 1", "a = 2"), spawn, _edit("b = 1", "b = 2"))
    assert entry.text == ("edited 2× — `b = 1` → `b = 2`; edited here after a sub-agent worked on it, see m3")


def test_what_a_shell_changes_is_told_without_its_lines() -> None:
    (entry,) = _changes(("Bash", {"command": "rm src/old.py"}))
    assert (entry.key, entry.text) == ("src/old.py", "deleted")


def test_a_file_in_a_temporary_folder_is_needed_less() -> None:
    (entry,) = _changes(("Write", {"file_path": "/tmp/x.txt", "content": "a"}))
    assert entry.need < 0.5


def test_a_very_large_edit_is_compared_without_regard_to_order() -> None:
    lines = [f"row {number}" for number in range(int(LARGE**0.5) + 1)]
    (entry,) = _changes(_edit("\n".join(lines), "\n".join([*lines[1:], "added_setting = true"])))
    assert entry.text == "edited — `row 0` → `added_setting = true`"


def test_a_file_changed_again_keeps_what_was_told_before() -> None:
    (earlier,), (later,) = _changes(_edit("a = 1", "a = 2")), _changes(_edit("b = 1", "b = 2"))
    both = changed_again(earlier, later)
    assert both.text == "edited — `b = 1` → `b = 2`; before that: edited — `a = 1` → `a = 2`"


def test_a_definition_is_told_with_its_docstring_and_a_long_list_is_counted() -> None:
    (entry,) = _changes(_edit("", 'def f():\n    """Rounds each line."""\n'))
    assert "f(): Rounds each line." in entry.text
    (entry,) = _changes(
        _edit("", "class Rate:\n    code: str\n    factor: float\n\nclass Other:\n    unit: str\n")
    )
    assert "class Rate {code, factor}" in entry.text
    many = "\n".join(f"def f{number}(): pass" for number in range(12))
    assert "(+4 more)" in _changes(_edit("", many))[0].text


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("export async function load(id) {", "load()"),
        ("func (s *Store) Save(ctx context.Context) error {", "Save()"),
        ("const toRow = (entry: Entry): Row => {", "toRow()"),
        ("pub(crate) fn parse<T>(text: &str) {", "parse()"),
        ("interface Options {", "interface Options"),
        ("  it('rounds each line', () => {", 'test "rounds each line"'),
        ('\tt.Run("on main", func(t *testing.T) {', 'test "on main"'),
    ],
)
def test_definitions_of_many_languages_are_named(line: str, name: str) -> None:
    (entry,) = _changes(_edit("", f"{line}\n  body of it\n", path="src/a.ts"))
    assert f"+ {name}" in entry.text


def test_a_constant_is_no_definition_of_its_own() -> None:
    (entry,) = _changes(_edit("", "const limit = 5\nconst other = 6\n", path="a.ts"))
    assert "+ " not in entry.text


def test_what_git_took_back_is_no_change_and_what_was_committed_before_is() -> None:
    edit, other = _edit("a = 1", "currency = 1"), _edit("b = 1", "b = 2", path="src/b.py")
    restore: tuple[str, dict[str, object]] = (
        "Bash",
        {"command": "git diff --stat; git checkout src/a.py && git status"},
    )
    assert [entry.key for entry in _changes(edit, other, restore)] == ["src/b.py"]
    commit: tuple[str, dict[str, object]] = ("Bash", {"command": "git add -A && git commit -m done"})
    (kept,) = _changes(edit, commit, _edit("currency = 1", "rate = 1"), restore)
    assert "`a = 1` → `currency = 1`" in kept.text


def test_the_first_sentence_of_a_block_comment_says_what_a_definition_is_for() -> None:
    new = "/**\n * Counts tokens.\n * Slowly.\n */\nfunction count(a) {\n}\n"
    (entry,) = _changes(_edit("", new, path="src/a.ts"))
    assert entry.text == "edited — + count(); count(): Counts tokens."
    (entry,) = _changes(_edit("", "/* Counts tokens. */\nfunction count(a) {\n}\n", path="src/a.ts"))
    assert entry.text == "edited — + count(); count(): Counts tokens."


def test_indented_syntax_is_no_statement() -> None:
    (entry,) = _changes(_edit("", "        else:\n            limit = 5\n        pass"))
    assert entry.text == "edited — now `limit = 5`"


def test_a_file_of_a_patch_is_known_without_the_blanks_after_its_name() -> None:
    (entry,) = _changes(
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: a.py  \n-x = 1\n+x = 2\n"})
    )
    assert (entry.key, entry.text) == ("a.py", "edited — `x = 1` → `x = 2`")


def test_a_file_that_is_written_after_it_was_deleted_is_there() -> None:
    (entry,) = _changes(
        ("Write", {"file_path": "src/a.py", "content": "def old():\n    pass\n"}),
        ("Bash", {"command": "rm src/a.py"}),
        ("Write", {"file_path": "src/a.py", "content": "def new():\n    pass\n"}),
    )
    assert entry.text == "created — + new()"


def test_of_a_file_that_was_deleted_in_the_end_nothing_is_told_to_stand_in_it() -> None:
    (entry,) = _changes(
        ("Write", {"file_path": "src/a.py", "content": "def old():\n    pass\n"}),
        ("Bash", {"command": "rm src/a.py"}),
    )
    assert entry.text == "created, deleted"


def test_what_an_edit_says_in_comments_is_told_in_whole_sentences() -> None:
    new = """
# lines before they are compared. A single match is not enough, since such lines
# stand in many files. It needs:
# - two matches
# - in order
matches = count(lines)
"""
    (entry,) = _changes(_edit("", new))
    assert entry.text == (
        "edited — now “A single match is not enough, since such lines stand in many files.”, "
        "“It needs: two matches; in order”, `matches = count(lines)`"
    )
    (entry,) = _changes(_edit("", "# of no consequence here\nmatches = count(lines)\n"))
    assert entry.text == "edited — now `# of no consequence here`, `matches = count(lines)`"


def test_a_line_of_a_document_is_no_comment() -> None:
    (entry,) = _changes(
        _edit("", "**Goal:** Retry the upload.\n- Never twice at once.\n", path="docs/plan.md")
    )
    assert entry.text == "edited — now `**Goal:** Retry the upload.`, `- Never twice at once.`"


def test_prose_of_a_document_is_told_in_whole_sentences() -> None:
    new = """\
> and dropped it. The endpoint takes three fields, of which the controller
> reads one. Nothing else is written by this call.
| `mode` | string |
"""
    (entry,) = _changes(_edit("", new, path="docs/modes.md"))
    assert entry.text == (
        "edited — now “The endpoint takes three fields, of which the controller reads one.”, "
        "“Nothing else is written by this call.”, `| `mode` | string |`"
    )


def test_prose_in_a_docstring_is_told_in_whole_sentences() -> None:
    (entry,) = _changes(
        _edit(
            "", "    the last one. Preview first and read the services\n    in the plan before you apply.\n"
        )
    )
    assert entry.text == "edited — now “Preview first and read the services in the plan before you apply.”"


def test_a_module_is_told_only_where_nothing_in_it_is() -> None:
    (entry,) = _changes(_edit("", "defmodule Web.Trace do\n  def open(x), do: x\nend\n", path="trace.ex"))
    assert entry.text == "edited — + open()"
    (entry,) = _changes(_edit("", "defmodule Web.Trace do\n  use Web\nend\n", path="trace.ex"))
    assert entry.text == "edited — + module Web.Trace"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("def load(self, x):", "load()"),
        ("  def full_name?", "full_name?()"),
        ("  def self.open(path)", "open()"),
        ('  def handle_event("close", _params, socket) do', 'handle_event("close")'),
        ("  def handle_info({:activity, %{id: id}}, socket) do", "handle_info(:activity)"),
        ("defp load(x), do: x", "load()"),
        ("defmodule Web.Trace do", "module Web.Trace"),
        ("  attribute :state, :atom do", "attribute :state"),
        ("  has_many :refs, Ref", "has_many :refs"),
        ("resources :users", "resources :users"),
        ('test "closes all", %{conn: conn} do', 'test "closes all"'),
        ("it('works', async () => {", 'test "works"'),
        ('\tt.Run("empty", func(t *testing.T) {', 'test "empty"'),
        ("func (s *Store) Put(key string) error {", "Put()"),
        ("local function M.setup(opts)", "M.setup()"),
        ("fn parse<T>(x: T) -> Result<T> {", "parse()"),
        ("  private async Task<int> RunAsync(int a) {", "RunAsync()"),
        ("public static void main(String[] args) throws IOException {", "main()"),
        ("static bool is_ok(const std::string& s) const {", "is_ok()"),
        ("  async render(a, b) {", "render()"),
        ("install_deps() {", "install_deps()"),
        ("rpc GetUser(GetUserRequest) returns (User) {", "GetUser()"),
        ("message User {", "message User"),
        ("extension Row: Codable {", "extension Row"),
        ("class Row(Base):", "class Row"),
        ("const load = async (path) => {", "load()"),
        ("CREATE TABLE IF NOT EXISTS users (", "table users"),
        ("create or replace function fill(a int)", "function fill"),
    ],
)
def test_a_definition_is_known_in_the_languages_that_agents_write(line: str, name: str) -> None:
    assert [*definitions(line)] == [name]


@pytest.mark.parametrize(
    "line",
    [
        "if (x) {",
        "} else if (y) {",
        "for (int i = 0; i < 3; i++) {",
        "foreach ($a as $b) {",
        "switch (x) {",
        "        where (page.isFree) {",
        "try (Reader r = open()) {",
        "return load(x) {",
        "go func() {",
        "useEffect(() => {",
        "  load(a, b);",
        "raise :error",
        "config :telemetry, tracer: Tracer",
        "alias :load",
        "const limit = 3",
        "message the team that it is done",
        "service is down",
    ],
)
def test_what_defines_nothing_is_no_definition(line: str) -> None:
    assert [*definitions(line)] == []


def test_a_member_that_is_written_twice_is_told_once() -> None:
    (entry,) = _changes(
        _edit("", "class Limits:\n    size: int\n    wait: int\n    size: int = 3\n", path="a.py")
    )
    assert "class Limits {size, wait}" in entry.text


def test_a_file_that_was_there_before_it_was_written_is_edited_not_created() -> None:
    written = {"content": "a = 1"}
    talk = Talk().calls("Read", {"file_path": "a.py"}).gets("a = 0")
    talk.calls("Write", {"file_path": "a.py", **written}).gets("ok")
    talk.calls("Write", {"file_path": "b.py", **written}).gets("The file b.py has been updated successfully.")
    talk.calls("Write", {"file_path": "c.py", **written}).gets("File created successfully at: c.py")
    assert [entry.text.split(" ")[0] for entry in talk.entries("change")] == ["edited", "edited", "created"]


@pytest.mark.parametrize(
    ("name", "arguments", "output"),
    [
        ("Bash", {"command": "cat a.py"}, "cat: a.py: No such file or directory\nExit code 1"),
        ("Bash", {"command": "cat a.py || true"}, "cat: a.py: No such file or directory"),
        (
            "Bash",
            {"command": "cat b.py a.py; true"},
            "cat: a.py: No such file or directory\n" + "b = 0\n" * 100,
        ),
        ("Read", {"file_path": "a.py"}, "Error: file a.py not found"),
        ("Bash", {"command": "rm a.py"}, ""),
    ],
)
def test_a_file_that_a_look_did_not_find_or_that_was_removed_is_created(
    name: str, arguments: dict[str, object], output: str
) -> None:
    talk = Talk()
    if "rm" in str(arguments):
        talk.calls("Read", {"file_path": "a.py"}).gets("a = 0")
    talk.calls(name, arguments).gets(output)
    talk.calls("Write", {"file_path": "a.py", "content": "def f():\n    pass\n"}).gets("ok")
    assert talk.entries("change")[-1].text.startswith("created")


def test_who_wrote_a_file_knows_whether_it_was_there() -> None:
    talk = Talk().calls("Read", {"file_path": "a.py"}).gets("This file is empty.")
    talk.calls("Write", {"file_path": "a.py", "content": "a = 1"}).gets("File created successfully at: a.py")
    assert talk.entries("change")[0].text.startswith("created")


def test_a_file_that_speaks_of_missing_files_was_there() -> None:
    shown = 'raise Missing("the file was not found")\n' * 20
    talk = Talk().calls("Bash", {"command": "cat a.py"}).gets(shown)
    talk.calls("Write", {"file_path": "a.py", "content": "a = 1"}).gets("ok")
    assert talk.entries("change")[0].text.startswith("edited")


def test_what_a_document_says_of_code_is_no_definition() -> None:
    new = "## Changed\n\nThe protocol whose name is {API} is used.\n"
    talk = (
        Talk().calls("Edit", {"file_path": "CHANGELOG.md", "old_string": "x", "new_string": new}).gets("ok")
    )
    (entry,) = talk.entries("change")
    assert 'section "Changed"' in entry.text
    assert "protocol whose" not in entry.text.partition("now")[0]
