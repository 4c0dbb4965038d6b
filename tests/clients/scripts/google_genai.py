# A streamed tool loop with the Google Gen AI SDK. The prompt is the argument; the last text is printed.

import sys
from pathlib import Path

from google import genai
from google.genai import types

PATH = types.Schema(type="OBJECT", properties={"path": types.Schema(type="STRING")}, required=["path"])
TOOL = types.FunctionDeclaration(name="read_file", description="Read a file.", parameters=PATH)

client = genai.Client()
settings = types.GenerateContentConfig(
    system_instruction="Be brief.",
    tools=[types.Tool(function_declarations=[TOOL])],
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
)
contents = [types.Content(role="user", parts=[types.Part(text=sys.argv[1])])]
while True:
    parts = []
    for chunk in client.models.generate_content_stream(model="gemini-2.5-pro", contents=contents, config=settings):
        parts += chunk.candidates[0].content.parts or []
    calls = [part.function_call for part in parts if part.function_call]
    if not calls:
        break
    contents.append(types.Content(role="model", parts=parts))
    results = [
        types.Part.from_function_response(name=call.name, response={"result": Path(call.args["path"]).read_text()})
        for call in calls
    ]
    contents.append(types.Content(role="user", parts=results))
print("".join(part.text or "" for part in parts))
