"""Values that every other package shares, pure and without I/O.

Messages and their parts, tokens and budgets, usage, references, redaction, search. Start reading at `messages`. What a
summary must hold is decided in `autocompact.ledger`, how a context becomes smaller in `autocompact.compaction`.
"""
