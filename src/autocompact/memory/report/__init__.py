"""The monthly report: what was recorded of a month, its figures, and the files that tell them.

- `records`: a month and what is known of it; `folder` and `conversations` find that in files and stores.
- `figures`: sums, averages, cost.
- `telling`, `markdown`, `page`, `charts`: in words, tables and pictures.
- `writing`: into ``reports/`` of the memory folder.
"""

from __future__ import annotations

from autocompact.memory.report.figures import MonthlyReport
from autocompact.memory.report.records import Month
from autocompact.memory.report.writing import WrittenReport, write_report

__all__ = ["Month", "MonthlyReport", "WrittenReport", "write_report"]
