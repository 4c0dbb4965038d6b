# A streamed tool loop with LangChain's OpenAI model. The prompt is the argument; the last text is printed.

import sys
from pathlib import Path

from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


@tool
def read_file(path: str) -> str:
    """Read a file."""
    return Path(path).read_text()


model = ChatOpenAI(model="gpt-5").bind_tools([read_file])
messages = [SystemMessage("Be brief."), HumanMessage(sys.argv[1])]
while True:
    answer = None
    for chunk in model.stream(messages):
        answer = chunk if answer is None else answer + chunk
    if not answer.tool_calls:
        break
    messages.append(answer)
    messages += [ToolMessage(read_file.invoke(call["args"]), tool_call_id=call["id"]) for call in answer.tool_calls]
print(answer.text)
