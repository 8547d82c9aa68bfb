"""Tools of the agent, and the toolbox that runs their calls."""

from autocompact.chat.tools.box import AskPermission, Tool, Toolbox, ToolError, tool

__all__ = ["AskPermission", "Tool", "ToolError", "Toolbox", "tool"]
