"""deepagents: LangChain's middleware in the place of the one that summarises there.

    agent = create_deep_agent(model, middleware=[AutocompactMiddleware(compactor)], checkpointer=saver)

deepagents puts a middleware in the place of the one of its own that has the same name. Needs the extra ``deepagents``.
"""

from __future__ import annotations

from importlib.util import find_spec

from autocompact.adapters import langchain
from autocompact.runtime.extras import install_command

if find_spec("deepagents") is None:
    raise ImportError(
        f"the adapter for deepagents needs deepagents: {install_command('deepagents')}", name="deepagents"
    )


class AutocompactMiddleware(langchain.AutocompactMiddleware):
    """Keeps the threads of a deep agent within the window; the rest is as with LangChain.

    It takes the place of deepagents' summaries in the agent and in its general-purpose sub-agent. A sub-agent of your own
    has deepagents' summaries unless the same object is in its ``middleware``.
    """

    @property
    def name(self) -> str:
        """The name of the middleware that it takes the place of."""
        return "SummarizationMiddleware"
