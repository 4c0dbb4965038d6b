# A streamed tool loop with the OpenAI SDK (responses). The prompt is the argument; the last text is printed.

import json
import sys
from pathlib import Path

from openai import OpenAI

TOOL = {
    "type": "function",
    "name": "read_file",
    "description": "Read a file.",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    "strict": False,
}

client = OpenAI()
history = [{"role": "user", "content": sys.argv[1]}]
while True:
    with client.responses.create(
        model="gpt-5", instructions="Be brief.", input=history, tools=[TOOL], store=False, stream=True
    ) as stream:
        for event in stream:
            if event.type == "response.completed":
                response = event.response
    calls = [item for item in response.output if item.type == "function_call"]
    if not calls:
        break
    history += [item.model_dump(exclude_none=True) for item in response.output]
    for call in calls:
        result = Path(json.loads(call.arguments)["path"]).read_text()
        history.append({"type": "function_call_output", "call_id": call.call_id, "output": result})
print(response.output_text)
