"""System prompt and tools: what every request begins with, the same bytes from turn to turn."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from autocompact.chat.approvals import Approvals
from autocompact.chat.config import ChatConfig
from autocompact.chat.prompt import MemoryFiles, system_prompt
from autocompact.chat.rules import rules_prompt
from autocompact.chat.tools import Tool, Toolbox
from autocompact.chat.tools.command import command_tool
from autocompact.chat.tools.files import file_tools
from autocompact.chat.tools.mcp import McpServers
from autocompact.chat.tools.memory import remember_tool
from autocompact.chat.tools.search import search_tool
from autocompact.chat.tools.skills import find_skills, skill_tool
from autocompact.chat.tools.workspace import Workspace
from autocompact.engine import Conversation
from autocompact.errors import InvalidInput
from autocompact.ports import Clock


class Toolkit:
    """System prompt and tools of all conversations of a service.

    Attributes:
        approvals: the person's standing answers in the workspace.

    Args:
        config: which folders, skills, commands and MCP servers there are.
        clock: stamps what is remembered.
    """

    def __init__(self, config: ChatConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._memory = MemoryFiles(config.memory_folder)
        self._servers = McpServers(config.mcp_file, asks=config.approval == "ask")
        self.approvals = Approvals(config.approvals_file, folder=config.workspace)

    def documents(self) -> Sequence[tuple[str, str]]:
        """Names and current texts of the memory files, for searches."""
        return self._memory.documents()

    def system_prompt(self) -> str:
        """The current system prompt: the same bytes unless a file changed that it shows."""
        skills = find_skills(self._config.skill_folders).values()
        return system_prompt(
            self._memory,
            instructions=self._config.instructions,
            workspace=self._config.workspace,
            skills=[(each.skill.name, each.skill.description) for each in skills],
        )

    def tools(self, *, memory_folder: Path | None) -> list[Tool]:
        """Built-in tools that need no conversation.

        Args:
            memory_folder: where ``remember`` writes; None offers no such tool.
        """
        config, tools = self._config, list[Tool]()
        if memory_folder is not None:
            tools.append(remember_tool(memory_folder, self._clock))
        if config.skill_folders:
            tools.append(skill_tool(config.skill_folders))
        if config.workspace is not None:
            workspace = Workspace(config.workspace, memory=config.memory_folder)
            asks = config.approval == "ask"
            tools += (*file_tools(workspace, asks=asks), search_tool(workspace))
            if config.commands.enabled and os.name == "posix":
                tools.append(command_tool(config.workspace, config.commands))
        return tools

    async def served_tools(self) -> tuple[Tool, ...]:
        """Tools of the MCP servers; the first call starts the servers.

        Raises:
            InvalidInput: their configuration cannot be used.
        """
        try:
            return await self._servers.tools()
        except ImportError as error:
            raise InvalidInput(str(error)) from error

    @property
    def server_problems(self) -> Mapping[str, str]:
        """Reasons why MCP servers were left out, by name."""
        return self._servers.problems

    async def aclose(self) -> None:
        """End the MCP servers."""
        await self._servers.aclose()


class RequestPrefix:
    """System prompt and tools of one conversation.

    Attributes:
        approvals: the person's standing answers to questions of tools.
        system: the system prompt of the next request.
        toolbox: its tools; those of MCP servers come with the first `load`.

    Args:
        toolkit: makes the prompt, and has the tools of MCP servers.
        tools: built-in ones.
    """

    def __init__(self, toolkit: Toolkit, tools: Iterable[Tool]) -> None:
        self.system = ""
        self.approvals = toolkit.approvals
        self.toolbox = Toolbox(tools)
        self._toolkit = toolkit
        self._served = False

    async def load(self, conversation: Conversation) -> None:
        """Bring prompt and tools up to date before a request of ``conversation``.

        Raises:
            InvalidInput: the configuration of the MCP servers cannot be used.
        """
        if not self._served:
            served = await self._toolkit.served_tools()
            # a turn and a preview may both wait for the servers to start: the second one would add their tools once more
            if not self._served:
                self.toolbox, self._served = Toolbox((*self.toolbox.tools, *served)), True
        self.refresh(conversation)

    def refresh(self, conversation: Conversation) -> None:
        """Bring the prompt up to date, and count prompt and tools in the usage of ``conversation``."""
        rules = rules_prompt(conversation.records.notes)
        self.system = "\n\n".join(filter(None, (self._toolkit.system_prompt(), rules)))
        conversation.internals.replica.use_tools(self.toolbox.schemas(), system=self.system)
