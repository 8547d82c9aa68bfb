"""Adapters: conversations that an agent framework holds, kept within the window and never losing anything.

Each adapter is one module with an extra of its name. It gives the framework's whole list of messages to
`autocompact.Conversation.follow` before each model call and hands on what comes back; the framework's own history is never
changed.

- `remainder`: what a framework's message says beyond the form in which the log holds it.
- `held`: a conversation whose messages a framework holds, as objects of its own.
- one module for each framework.

`autocompact.testing.adapters.AdapterConformance` is what each of them is tested with.
"""
