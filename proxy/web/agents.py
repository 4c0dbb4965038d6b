# What is known of the clients that wait: how each is recognised, how long it bears silence, what an interim 102 does to
# it. docs/clients.md has the same and more, for people.
#
# Rule 1: each fact was seen, with the version in `seen`; a client of which nothing was seen has no row, and is sent
#         nothing while it waits.
# Rule 2: a row is here because something asks for it. What a 102 does not change stands in docs/clients.md alone.
# Rule 3: rows are asked in their order: what a 102 breaks comes first, whatever else the User-Agent says.

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache


class Interim(Enum):
    """What 102s do to a client that waits."""

    NEEDED = "needed"  # they keep it waiting beyond its limit
    FEW = "few"  # it bears FEW of them and dies of the next
    FATAL = "fatal"  # it takes the first for the answer


FEW = 5  # net/http: more interim answers than that are an error


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One client, or a library that many stand on. `marks`: parts of its User-Agent, any of them; `runtime`: its
    x-stainless-runtime. `limit_s`: how long it waits for the head of an answer, None for as long as it takes."""

    name: str
    seen: str
    interim: Interim
    marks: tuple[bytes, ...] = ()
    runtime: bytes | None = None
    limit_s: float | None = None

    def sends(self, user_agent: bytes, runtime: bytes | None) -> bool:
        """Whether these headers are this client's."""
        return (runtime is not None and runtime == self.runtime) or any(mark in user_agent for mark in self.marks)


AGENTS: Sequence[Agent] = (
    Agent(name="requests", seen="2.34", interim=Interim.FATAL, marks=(b"python-requests/",)),
    Agent(name="urllib", seen="Python 3", interim=Interim.FATAL, marks=(b"Python-urllib/",)),
    Agent(name="Go net/http", seen="1.19", interim=Interim.FEW, marks=(b"Go-http-client/",)),
    Agent(name="Gemini CLI", seen="0.61.0", interim=Interim.NEEDED, marks=(b"GeminiCLI",), limit_s=60.0),
    Agent(name="Google's SDK on Node", seen="2.32.0", interim=Interim.NEEDED, marks=(b"gl-node",), limit_s=300.0),
    Agent(
        name="AI SDK on Node",
        seen="7.0.173",
        interim=Interim.NEEDED,
        marks=(b"runtime/node", b"node.js/"),  # older ones, and this
        limit_s=300.0,
    ),
    Agent(
        name="OpenAI's and Anthropic's SDK on Node",
        seen="7.59.0 and 1.14.0",
        interim=Interim.NEEDED,
        runtime=b"node",
        limit_s=300.0,
    ),
)


@lru_cache(maxsize=256)
def known(user_agent: bytes, runtime: bytes | None) -> Agent | None:
    """The first client that sends these headers; None for one that is not known."""
    return next((agent for agent in AGENTS if agent.sends(user_agent, runtime)), None)


def shortest_limit_s() -> float:
    """How soon the least patient of those that 102s help gives up."""
    return min(agent.limit_s for agent in AGENTS if agent.interim is Interim.NEEDED and agent.limit_s is not None)
