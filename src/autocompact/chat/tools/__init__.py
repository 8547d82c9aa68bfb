"""What the agent can do: tools, and the box that carries their calls out."""

from autocompact.chat.tools.box import Asking, Tool, Toolbox, ToolError, tool

__all__ = ["Asking", "Tool", "ToolError", "Toolbox", "tool"]
