# A streamed tool loop with the LiteLLM SDK. The model and the prompt are the arguments; the last text is printed.

import json
import sys
from pathlib import Path

import litellm

PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOL = {
    "type": "function",
    "function": {"name": "read_file", "description": "Read a file.", "parameters": PARAMETERS},
}

messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": sys.argv[2]}]
while True:
    chunks = list(litellm.completion(model=sys.argv[1], messages=messages, tools=[TOOL], stream=True))
    answer = litellm.stream_chunk_builder(chunks, messages=messages).choices[0].message
    if not answer.tool_calls:
        break
    messages.append(answer.model_dump(exclude_none=True))
    for call in answer.tool_calls:
        result = Path(json.loads(call.function.arguments)["path"]).read_text()
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
print(answer.content)
