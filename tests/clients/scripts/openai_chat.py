# A streamed tool loop with the OpenAI SDK (chat). The prompt is the argument; the last text is printed.

import json
import sys
from pathlib import Path

from openai import OpenAI

TOOL = {
    "type": "function",
    "function": {
        "name": "read_file",
        "description": "Read a file.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
}

client = OpenAI()
messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": sys.argv[1]}]
while True:
    text, calls = "", {}
    with client.chat.completions.create(model="gpt-5", messages=messages, tools=[TOOL], stream=True) as stream:
        for chunk in stream:
            for choice in chunk.choices:
                text += choice.delta.content or ""
                for part in choice.delta.tool_calls or ():
                    call = calls.setdefault(part.index, {"id": "", "name": "", "arguments": ""})
                    call["id"] += part.id or ""
                    call["name"] += part.function.name or ""
                    call["arguments"] += part.function.arguments or ""
    if not calls:
        break
    asked = [
        {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
        for call in calls.values()
    ]
    messages.append({"role": "assistant", "content": text, "tool_calls": asked})
    for call in calls.values():
        result = Path(json.loads(call["arguments"])["path"]).read_text()
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
print(text)
