"""An agent of the OpenAI Agents SDK."""

from __future__ import annotations

from agents import Agent, Runner, function_tool, set_tracing_disabled
from parts import MOST_TURNS, REQUEST, RULES, read_part

set_tracing_disabled(disabled=True)
agent = Agent(name="Reader", instructions=RULES, tools=[function_tool(read_part)], model="gpt-4.1")
print(Runner.run_sync(agent, REQUEST, max_turns=MOST_TURNS).final_output)
