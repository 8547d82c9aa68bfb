"""Tools of the agent, and the toolbox that runs their calls."""

from autocompact.chat.tools.box import Asked, AskPermission, Tool, Toolbox, ToolError, tool

__all__ = ["AskPermission", "Asked", "Tool", "ToolError", "Toolbox", "tool"]
