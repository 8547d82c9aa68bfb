def read_part(number: int) -> str:
    """Read a part of the project by its number."""
    from pathlib import Path

    return Path(f"part-{number:02}.txt").read_text()
