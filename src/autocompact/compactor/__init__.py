"""The orchestrator: load, decide, ask, verify, commit, tell.

`Compactor` holds what conversations share (store, model, mode, clock, listeners); `Conversation` is one of them.
"""

from autocompact.compactor.compactor import Compactor
from autocompact.compactor.conversation import Conversation
from autocompact.compactor.work import CompactionResult

__all__ = ["CompactionResult", "Compactor", "Conversation"]
