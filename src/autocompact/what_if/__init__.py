"""Replays a recorded session under other policies, prices and draws the outcomes, and recommends one.

    course      a session made ready once: requests, tokens as its provider counts, what was read and needed again
    policies    the policies to compare, and a file of the user's own
    contexts    how a context develops under each policy: by the live engine, or by what the recording has
    billing     the provider's prompt cache and a dated table of prices
    losses      what left the context with a compaction, and what the session needed of it later
    simulation  one course under one policy: `simulate`
    figures     its figures, and their sum over sessions
    replays     a session with the outcomes of all policies
    results     what was replayed once is kept by content
    comparison  many sessions, several at a time: `compare_policies` is the library's call
    documents   the JSON of it
    drawings    the context and the cost as SVG
    page        all of it as one HTML page
    recommending  which policy to take

Nothing here asks a model or the network. Start with `simulate`.
"""

from __future__ import annotations

from autocompact.what_if.course import Course, course_of
from autocompact.what_if.policies import WhatIf, default_policies, read_policies
from autocompact.what_if.simulation import Outcome, simulate

__all__ = ["Course", "Outcome", "WhatIf", "course_of", "default_policies", "read_policies", "simulate"]
