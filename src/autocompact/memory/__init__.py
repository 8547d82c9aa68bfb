"""The files in which an agent remembers: what ``compress-context`` keeps small, and the archive of what left a context.

- `documents`: the formats of the files and the plan of every change. Pure: bytes in, edits out.
- `files`: the folder on disk: its lock, changes of several files at once, entries of the archive, erasing.
- `observing`, `upkeep`, `judging`: record an observation; run the layers over a folder; ask a model which notes say the same.
- `sessions`: closes and archives the newest session. `schedule`: runs what is due. `report`: the report of a month.
- `paths`: where the folder is.

    folder = memory_folder()
    observe(folder, "Tests of the importer need TZ=UTC", why="they failed in October")
    report = run_upkeep(folder, layers=("observations", "tasks"))

Start reading with `upkeep.run_upkeep`. The engine writes the archive through `documents` and `files`; everything else here
stands above the engine.
"""
