"""An agent on OpenAI's client, over Responses, that sends the whole list of items."""

from __future__ import annotations

import json

from openai import OpenAI
from parts import DESCRIPTION, MOST_TURNS, REQUEST, RULES, SCHEMA, read_part

client = OpenAI(max_retries=0)
tools = [{"type": "function", "name": "read_part", "description": DESCRIPTION, "parameters": SCHEMA}]
items = [{"role": "user", "content": REQUEST}]
for _ in range(MOST_TURNS):
    response = client.responses.create(
        model="gpt-4.1", instructions=RULES, input=items, tools=tools, store=False
    )
    items += [item.model_dump(exclude_none=True) for item in response.output]
    calls = [item for item in response.output if item.type == "function_call"]
    if not calls:
        print(response.output_text)
        break
    for call in calls:
        read = read_part(**json.loads(call.arguments))
        items.append({"type": "function_call_output", "call_id": call.call_id, "output": read})
