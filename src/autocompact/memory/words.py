"""Word lists for `meaning`: small on purpose, each word with one job."""

from __future__ import annotations

from autocompact.core.terms import stem


def _grouped(*groups: str) -> dict[str, str]:
    """Each word, without its ending, to the first of its group."""
    return {stem(word): stem(group.split()[0]) for group in groups for word in group.split()}


SAME = _grouped(
    "require need needed necessary must demand mandatory",
    "run execute invoke launch",
    "use used using employ utilise utilize",
    "fail break crash",
    "fix repair mend",
    "delete remove erase drop",
    "create make generate produce",
    "change modify edit alter",
    "check verify validate",
    "begin start",
    "end finish",
    "quick fast",
    "folder directory dir",
    "config configuration configure",
    "repo repository",
    "db database",
    "env environment",
    "doc docs documentation",
    "param parameter argument",
    "function method",
    "second sec secs seconds s",
    "minute min mins minutes",
    "millisecond ms",
    "error exception",
    "commit committing",
    "big large",
    "small little",
    "show display",
    "want desire",
    "prefer favour favor",
    "permit allow",
    "forbid prohibit disallow",
    "find locate",
    "send transmit",
    "write wrote written",
    "build built",
    "flaky intermittent unstable nondeterministic",
    "password passphrase",
    "wrong incorrect",
    "correct right",
)
"""Words that say the same in a note about work on software."""

LIGHT = frozenset(
    stem(word)
    for word in (
        "please really very quite just simply always usually should shall ought would have"
        " has had get got gets getting set sets there here this that these those it its them they we you i our your"
        " also still already currently now again properly really actually basically generally note remember seem seems"
        " turn turns out let lets order way thing things case whole entire every each any all time whenever when while"
        " ensure sure able want wants happen happens keep keeps thus hence so too as be been being is are was were do"
        " does did done a an the of in at by for with and or but then will own such which who what where how why than"
        " must require need necessary demand mandatory to from into onto over under since because due via per about around through during within among between"
    ).split()
)
"""Words that change nothing about what a note says."""

NEGATIONS = frozenset(
    "not no never none nor neither cannot without avoid nobody nothing cant dont doesnt isnt wont"
    " sem mai senza не нет никогда без".split()
)
POSSIBLE = frozenset("can could may might".split())
"""Words that say what is possible or permitted: that something can be done is not that it is or must be done."""
LIMITS = frozenset("only except unless until solely exclusively but-only".split())
"""Words that say for how much a note holds: with and without one of them it is another note."""

RELATIONS = {
    stem(word): stem("to" if word == "into" else word)
    for word in (
        "before after from to into than over under if unless until when depend require call import prefer replace"
        " instead override extend block cause trigger"
    ).split()
}
"""Words whose sides cannot be exchanged: "a before b" is not "b before a". Each with the one that says the same."""
PREPOSITIONS = frozenset(
    stem(word)
    for word in (
        "in on at of for to from into onto over under via per through with within inside as than about against by around"
        " among between during since"
    ).split()
)
"""Words that say how two others belong together."""

OPPOSITES: dict[str, tuple[str, int]] = {
    stem(word): (f"{left} {right}", side)
    for left, right in (
        pair.split("/")
        for pair in (
            "before/after above/below on/off up/down enable/disable add/delete increase/decrease raise/lower min/max"
            " minimum/maximum more/less more/fewer quick/slow permit/forbid open/close begin/end lock/unlock read/write"
            " upper/lower true/false old/new sync/async synchronous/asynchronous first/last pass/fail left/right"
            " always/sometimes always/rarely push/pull encode/decode encrypt/decrypt import/export local/remote"
            " public/private internal/external big/small early/late install/uninstall online/offline cold/warm"
            " success/failure valid/invalid include/exclude tabs/spaces correct/wrong input/output client/server"
            " accept/reject load/unload hot/cold upload/download"
        ).split()
    )
    for side, word in enumerate((left, right))
}
# "one" is as often a pronoun as a figure.
FIGURES = {
    "zero": "0",
    "once": "1",
    "twice": "2",
    **{
        word: str(figure)
        for figure, word in enumerate(
            "two three four five six seven eight nine ten eleven twelve".split(), start=2
        )
    },
}
COMPOUNDS = {
    "time zone": "timezone",
    "set up": "setup",
    "data base": "database",
    "file name": "filename",
    "back up": "backup",
    "log in": "login",
    "white space": "whitespace",
    "work around": "workaround",
    "end point": "endpoint",
    "code base": "codebase",
    "time out": "timeout",
    "test suite": "tests",
}
