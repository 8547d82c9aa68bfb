"""An agent on OpenAI's client, over Chat Completions."""

from __future__ import annotations

import json

from openai import OpenAI
from parts import DESCRIPTION, MOST_TURNS, REQUEST, RULES, SCHEMA, read_part

client = OpenAI(max_retries=0)
tools = [
    {
        "type": "function",
        "function": {"name": "read_part", "description": DESCRIPTION, "parameters": SCHEMA},
    }
]
messages = [{"role": "system", "content": RULES}, {"role": "user", "content": REQUEST}]
for _ in range(MOST_TURNS):
    said = client.chat.completions.create(model="gpt-4.1", messages=messages, tools=tools).choices[0].message
    messages.append(said.model_dump(exclude_none=True))
    if not said.tool_calls:
        print(said.content)
        break
    for call in said.tool_calls:
        read = read_part(**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": read})
