# What agents have to do: a backlog of prompts, each a chain of calls with the agent's tools at work between them.
#
# Rule: it is drawn from a seed of its own, so that every way to the provider is given the same work.

import random
from dataclasses import dataclass, field

from .ranges import Range

CALLS, TOKENS = Range(5, 40), Range(2_000, 60_000)
HOLD_S, TOOLS_S = Range(2.0, 20.0), Range(0.2, 8.0)
_AWAY = Range(30.0, 120.0)  # until a person has read an error and says: go on


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How agents work."""

    agents: int = 12
    projects: int = 4  # workspaces
    calls: Range = CALLS  # of one prompt
    hold_s: Range = HOLD_S  # one answer, at full priority
    tools_s: Range = TOOLS_S  # between two calls
    tokens: Range = TOKENS  # of one call
    models: tuple[str, ...] = ("",)  # one for each agent, over and over


@dataclass(slots=True, kw_only=True, eq=False)
class Request:
    """One call of an agent, through all its tries. `prompt_at`: when its prompt began (epoch seconds)."""

    number: int
    agent: int
    project: str
    model: str
    work_s: float
    tools_s: float
    tokens: int
    prompt_at: float = 0.0
    tries: int = 0
    first_at: float = 0.0  # when it was made
    lined_up_at: float = 0.0  # since when its latest try waits
    sent_at: float = 0.0  # when that went to the provider
    waited: bool = False  # in a queue, before its latest try went to the provider


@dataclass(slots=True)
class Prompt:
    calls: list[tuple[float, float, int]]  # (work, tools after it, tokens)


@dataclass(slots=True)
class Backlog:
    prompts: list[Prompt] = field(default_factory=list)
    work_s: float = 0.0
    tools_s: float = 0.0
    tokens: int = 0
    calls: int = 0

    @classmethod
    def drawn(cls, load: Load, work_s: float, seed: int) -> "Backlog":
        """As many prompts as make `work_s` seconds of answers."""
        backlog, chance = cls(), random.Random(f"work {seed}")
        while backlog.work_s < work_s:
            backlog._add(load, chance)
        backlog.prompts.reverse()  # taken from the end
        return backlog

    def _add(self, load: Load, chance: random.Random) -> None:
        calls = [
            (load.hold_s.draw(chance), load.tools_s.draw(chance), round(load.tokens.draw(chance)))
            for _ in range(round(load.calls.draw(chance)))
        ]
        self.prompts.append(Prompt(calls))
        self.calls += len(calls)
        self.work_s += sum(work for work, _, _ in calls)
        self.tools_s += sum(tools for _, tools, _ in calls)
        self.tokens += sum(tokens for _, _, tokens in calls)


def away_s(chance: random.Random) -> float:
    """How long an agent stands still after an error that its SDK handed on."""
    return _AWAY.draw(chance)
