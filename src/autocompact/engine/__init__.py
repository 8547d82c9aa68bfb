"""The engine: keeps conversations within the model's window.

Start reading at `conversation`: what an application calls. What a turn does is in `Fitting.ready`.

    shared          store, models, mode, budget, clock and listeners of all conversations; `compactor` opens them
    state, meter    what is known of one conversation beside its log: frozen values and pure transitions
    situation       from the state of one moment to a decision or a goal, pure
    decisions       the state of this moment, asked what to do next
    fitting         does what is decided until the next request fits; `shrink` after one that was refused
    replica         log, state and lock of one conversation, in step with the store
    work            one compaction: a lease, a copy of the log, the ladder off the event loop; `summariser` asks models
    execution       makes and activates one; `preparation` does so in the `background`; `archiving` notes it
    records         what can be done with compactions: preview, undo, restore, compare, pin
    following       makes the log equal to a list that the caller keeps; `bridges` writes a framework's messages for it

What the gateway and the chat need beside the public methods, they find in `Conversation.internals`: these very parts.

Where is the state, and who may write it? It is `ConversationState`, and `Replica` holds the present one; nobody else
replaces it. The services are handed the replica (never the conversation, which owns them) and ask it: it writes the
store first, under its lock, and takes the next state over once that succeeded.
"""

from autocompact.engine.compactor import Compactor
from autocompact.engine.conversation import Conversation
from autocompact.engine.work import CompactionResult

__all__ = ["CompactionResult", "Compactor", "Conversation"]
