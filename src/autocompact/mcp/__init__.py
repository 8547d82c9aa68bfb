"""The MCP server: what left an agent's context, for the agent itself, over stdio or HTTP.

Nothing is kept between calls but caches: each call names its conversation, which is a session that an agent recorded on
this computer, or one in our own store. What is given out has no secrets and a bounded size.

- `conversations`: finds, reads and indexes the conversation that a call names.
- `tools`: what each tool does.
- `answers`: what each tool answers.
- `server`: registers it all with the SDK, and serves it. Needs the extra ``mcp``.
"""

from importlib.util import find_spec

from autocompact.runtime.extras import install_command

for _needed in ("mcp", "pydantic"):
    if find_spec(_needed) is None:
        raise ImportError(
            f"for the MCP server: {install_command('mcp')} ({_needed} is missing)", name=_needed
        )
