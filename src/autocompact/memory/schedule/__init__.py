"""Upkeep by the calendar: inside a server, or by cron and systemd.

- `times`: when what is due.
- `running`: runs it, one process at a time, each day once.
- `jobs`: what runs.
- `installing`: a crontab or systemd units that do the same.
"""

from __future__ import annotations

from autocompact.memory.schedule.installing import crontab, systemd_units
from autocompact.memory.schedule.jobs import Upkeep
from autocompact.memory.schedule.running import AfterSessions, Schedule

__all__ = ["AfterSessions", "Schedule", "Upkeep", "crontab", "systemd_units"]
