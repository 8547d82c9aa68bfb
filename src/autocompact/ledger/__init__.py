"""The ledger: what must survive, found without a model, and what of it fits a budget.

Three steps: `extraction` finds every entry in one reading of the messages (`scan`), `choice` takes the ones worth most
for their size, `rendering` writes them for a reader. An entry is a value of `entries`.
"""
