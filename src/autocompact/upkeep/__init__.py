"""Upkeep of an agent's memory folder: observations become rules or are archived, old tasks become rows.

    folder = memory_folder()
    observe(folder, "Tests of the importer need TZ=UTC", why="they failed in October")
    report = run_upkeep(folder, layers=("observations", "tasks"))

`autocompact.memory` decides; here the folder is found, locked, read and changed.
"""

from __future__ import annotations

from autocompact.upkeep.judging import judge
from autocompact.upkeep.observing import observe
from autocompact.upkeep.place import memory_folder
from autocompact.upkeep.running import LAYERS, FileChange, Layer, UpkeepReport, combined, run_upkeep

__all__ = [
    "LAYERS",
    "FileChange",
    "Layer",
    "UpkeepReport",
    "combined",
    "judge",
    "memory_folder",
    "observe",
    "run_upkeep",
]
