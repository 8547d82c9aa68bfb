"""Skills: the three prompts that come along, or a user's own by path or as text."""

from __future__ import annotations

from pathlib import Path

from autocompact.errors import InvalidInput
from autocompact.ledger.prompts import BUILT_IN, Skill, parse_skill

_WORDS = 3


def load_skill(name_or_path: str | Path) -> Skill:
    """The prompt of that name ("compact", "session", "handoff"), the one in a file, or the text itself.

    Args:
        name_or_path: a built-in name, the path of a skill file or of a folder with a ``SKILL.md``, or a prompt
            (`is_text`), with front matter or without.

    Raises:
        InvalidInput: there is no such prompt, it cannot be read, or it is no skill file.
    """
    if name_or_path in BUILT_IN:
        from importlib import resources

        file = resources.files("autocompact.ledger.prompts") / name_or_path / "SKILL.md"
        return parse_skill(file.read_text("utf-8"), source=f"the built-in skill {name_or_path!r}")
    if isinstance(name_or_path, str) and is_text(name_or_path):
        if name_or_path.lstrip().startswith("---"):
            return parse_skill(name_or_path.lstrip(), source="the prompt")
        return Skill(name="own", description="A prompt given as text.", body=name_or_path.strip())
    path = Path(name_or_path).expanduser()
    path = path / "SKILL.md" if path.is_dir() else path
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        names = ", ".join(BUILT_IN)
        raise InvalidInput(f"no skill {str(name_or_path)!r}: neither a file nor one of {names}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot read the skill file {str(path)!r}: {error}") from error
    return parse_skill(text, source=str(path))


def is_text(given: str) -> bool:
    """True if ``given`` is a prompt and not the name of one: it has several lines, or words and no slash."""
    text = given.strip()
    return "\n" in text or (len(text.split()) >= _WORDS and "/" not in text and not text.endswith(".md"))
