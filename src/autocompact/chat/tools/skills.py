"""Skills: folders with a ``SKILL.md``, named in the prompt and read when they are needed."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from autocompact.chat.tools.box import AskPermission, Tool, ToolError, tool
from autocompact.errors import InvalidInput
from autocompact.ledger.prompts import Skill
from autocompact.models.skills import load_skill

FILE = "SKILL.md"

log = logging.getLogger("autocompact")


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledSkill:
    """A skill and its folder, where further files of it may lie."""

    skill: Skill
    folder: Path


class SkillArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Read the instructions of a skill that the system prompt names."""

    name: Annotated[str, msgspec.Meta(min_length=1, description="Name of the skill")]


def find_skills(folders: Sequence[Path]) -> dict[str, InstalledSkill]:
    """The skills in ``folders``, by name; of equal names the one in the last folder counts.

    A skill that cannot be read is left out, and logged.
    """
    found: dict[str, InstalledSkill] = {}
    for folder in folders:
        for file in sorted(folder.expanduser().glob(f"*/{FILE}")):
            try:
                skill = load_skill(file)
            except InvalidInput as error:
                log.warning("a skill was left out", extra={"reason": str(error)})
            else:
                found[skill.name] = InstalledSkill(skill=skill, folder=file.parent)
    return dict(sorted(found.items()))


def skill_tool(folders: Sequence[Path]) -> Tool:
    """``read_skill``; the folders are looked at again at each call."""

    async def run(asked: SkillArguments, _asking: AskPermission) -> str:
        found = find_skills(folders)
        if asked.name not in found:
            raise ToolError(f"there is no skill {asked.name!r}. There are: {', '.join(found) or 'none'}.")
        installed = found[asked.name]
        return f"Folder of this skill: {installed.folder}\n\n{installed.skill.body}"

    return tool("read_skill", SkillArguments, run=run)
