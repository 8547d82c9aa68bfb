"""An agent on Anthropic's client, streamed, with thinking and cache marks."""

from __future__ import annotations

from anthropic import Anthropic
from parts import DESCRIPTION, MOST_TURNS, REQUEST, RULES, SCHEMA, read_part

client = Anthropic(max_retries=0)
tools = [{"name": "read_part", "description": DESCRIPTION, "input_schema": SCHEMA}]
marked = {"cache_control": {"type": "ephemeral"}}
messages = [{"role": "user", "content": [{"type": "text", "text": REQUEST}]}]
for _ in range(MOST_TURNS):
    last = messages[-1]
    sent = [*messages[:-1], last | {"content": [*last["content"][:-1], last["content"][-1] | marked]}]
    with client.messages.stream(
        model="claude-sonnet-4-5",
        max_tokens=4096,
        thinking={"type": "enabled", "budget_tokens": 1024},
        system=[{"type": "text", "text": RULES, **marked}],
        messages=sent,
        tools=tools,
    ) as stream:
        said = stream.get_final_message()
    messages.append({"role": "assistant", "content": [block.model_dump() for block in said.content]})
    if said.stop_reason != "tool_use":
        print(said.content[-1].text)
        break
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": read_part(**block.input)}
        for block in said.content
        if block.type == "tool_use"
    ]
    messages.append({"role": "user", "content": results})
