"""The monthly report: what was recorded of a month, its figures, and the files that tell them.

- `records`: a month and what is known of it; `folder` and `conversations` find that in files and stores.
- `figures`: sums, averages, cost.
- `telling`, `markdown`, `page`, `charts`: in words, tables and pictures.
- `writing`: into ``reports/`` of the memory folder.
"""

from __future__ import annotations

from autocompact.upkeep.monthly.figures import MonthlyReport
from autocompact.upkeep.monthly.records import Month
from autocompact.upkeep.monthly.writing import WrittenReport, write_report

__all__ = ["Month", "MonthlyReport", "WrittenReport", "write_report"]
