# A streamed tool loop with the Anthropic SDK. The prompt is the argument; the last text is printed.

import sys
from pathlib import Path

from anthropic import Anthropic

TOOL = {
    "name": "read_file",
    "description": "Read a file.",
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}

client = Anthropic()
messages = [{"role": "user", "content": sys.argv[1]}]
while True:
    with client.messages.stream(
        model="claude-sonnet-4-5", max_tokens=1000, system="Be brief.", messages=messages, tools=[TOOL]
    ) as stream:
        answer = stream.get_final_message()
    calls = [block for block in answer.content if block.type == "tool_use"]
    if not calls:
        break
    messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in answer.content]})
    results = [
        {"type": "tool_result", "tool_use_id": call.id, "content": Path(call.input["path"]).read_text()}
        for call in calls
    ]
    messages.append({"role": "user", "content": results})
print("".join(block.text for block in answer.content if block.type == "text"))
