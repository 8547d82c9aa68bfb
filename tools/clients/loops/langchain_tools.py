"""An agent on LangChain's chat models: ``openai`` or ``anthropic``."""

from __future__ import annotations

import sys

from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from parts import MOST_TURNS, REQUEST, RULES, read_part

if sys.argv[1] == "openai":
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model="gpt-4.1", max_retries=0)
else:
    from langchain_anthropic import ChatAnthropic

    model = ChatAnthropic(model="claude-sonnet-4-5", max_retries=0, max_tokens=4096)
agent = model.bind_tools([read_part])
messages = [SystemMessage(RULES), HumanMessage(REQUEST)]
for _ in range(MOST_TURNS):
    said = agent.invoke(messages)
    messages.append(said)
    if not said.tool_calls:
        print(said.content)
        break
    for call in said.tool_calls:
        messages.append(ToolMessage(read_part(**call["args"]), tool_call_id=call["id"]))
