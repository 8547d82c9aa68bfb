"""Compaction as values and decisions: how a context becomes smaller, and what the model is shown after it. No I/O.

- `record`: what one compaction covers, what stands in its place and what it did; `receipts` weighs it.
- `transcript`: the log, and the fold of log and record into the context; `repair` keeps every call with its result.
- `ladder`: the rungs from masking to the floor, each tried while the context is too large. Start reading here.
- `cuts`, `masking`, `pins`, `last_request`: where a context may be cut, and what is shortened instead of cut.
- `modes`: the presets.
"""
