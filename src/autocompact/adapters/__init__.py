"""Adapters: conversations that an agent framework holds, kept within the window and never losing anything.

Each adapter is one module with an extra of its name. It gives the framework's whole list of messages to
`autocompact.Conversation.follow` before each model call and hands on what comes back; the framework's own history is never
changed.

- `conversations`: the conversations of a framework's agents.
- one module for each framework; most have an `autocompact.ports.Bridge` to its messages.

`autocompact.testing.adapters.AdapterConformance` is what each of them is tested with.
"""
