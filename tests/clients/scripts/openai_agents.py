# A streamed tool loop with the OpenAI Agents SDK. The prompt is the argument; the last text is printed.

import asyncio
import sys
from pathlib import Path

from agents import Agent, Runner, function_tool, set_tracing_disabled


@function_tool
def read_file(path: str) -> str:
    """Read a file."""
    return Path(path).read_text()


async def main() -> None:
    set_tracing_disabled(True)
    agent = Agent(name="Reader", instructions="Be brief.", model="gpt-5", tools=[read_file])
    result = Runner.run_streamed(agent, sys.argv[1])
    async for _ in result.stream_events():
        pass
    print(result.final_output)


asyncio.run(main())
