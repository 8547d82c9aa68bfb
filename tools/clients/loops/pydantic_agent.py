"""An agent of pydantic-ai: its argument names the model."""

from __future__ import annotations

import sys

from parts import MOST_TURNS, REQUEST, RULES, read_part
from pydantic_ai import Agent
from pydantic_ai.usage import UsageLimits

agent = Agent(sys.argv[1], instructions=RULES, tools=[read_part])
print(agent.run_sync(REQUEST, usage_limits=UsageLimits(request_limit=MOST_TURNS)).output)
