# Agents at work: each takes the next prompt of the backlog and makes its calls one after the other.

import random
from functools import partial
from typing import Protocol

from . import sdk
from .clock import Clock
from .line import Refused
from .measure import Meter
from .work import Backlog, Load, Prompt, Request, away_s


class Way(Protocol):
    """How a call gets to the provider. It calls `Fleet.done` or `Fleet.failed` at the end."""

    def ask(self, request: Request) -> None:
        """An agent makes a call."""


class Agent:
    """One agent and the prompt it works on."""

    def __init__(self, number: int, load: Load) -> None:
        self.number = number
        self.project = f"project-{number % load.projects}"
        self.model = load.models[number % len(load.models)]
        self.prompt: Prompt | None = None
        self.prompt_at = 0.0
        self.at_call = 0


class Fleet:
    """All agents. `working` is how many have something to do."""

    def __init__(self, clock: Clock, load: Load, backlog: Backlog, meter: Meter, chance: random.Random) -> None:
        self.way: Way | None = None
        self._clock, self._meter, self._chance = clock, meter, chance
        self._prompts = backlog.prompts
        self._agents = [Agent(number, load) for number in range(load.agents)]
        self._requests = 0
        self.working = 0

    def start(self) -> None:
        """Everybody begins within the first seconds."""
        self.working = len(self._agents)
        for agent in self._agents:
            self._clock.later(self._chance.uniform(0.0, 5.0), partial(self._next_prompt, agent))

    def done(self, request: Request) -> None:
        """The answer has come, whole."""
        self._meter.done(request)
        self._clock.later(request.tools_s, lambda: self._next_call(self._agents[request.agent]))

    def failed(self, request: Request, refused: Refused) -> None:
        """The answer was an error."""
        wait_s = sdk.retry_in_s(
            refused.status, refused.headers, request.tries, in_stream=refused.in_stream, chance=self._chance
        )
        if wait_s is None:
            self._meter.gave_up(request)
            request.tries = 0
            wait_s = away_s(self._chance)
        self._clock.later(wait_s, lambda: self._ask(request))

    def left(self, request: Request) -> None:
        """The agent hung up while it waited; it will ask again."""
        request.tries = 0
        self._clock.later(away_s(self._chance), lambda: self._ask(request))

    def _next_prompt(self, agent: Agent) -> None:
        if not self._prompts:
            self.working -= 1
            return
        agent.prompt, agent.prompt_at, agent.at_call = self._prompts.pop(), self._clock.now, 0
        self._next_call(agent)

    def _next_call(self, agent: Agent) -> None:
        assert agent.prompt is not None
        if agent.at_call == len(agent.prompt.calls):
            self._next_prompt(agent)
            return
        work_s, tools_s, tokens = agent.prompt.calls[agent.at_call]
        agent.at_call += 1
        self._requests += 1
        self._ask(
            Request(
                number=self._requests,
                agent=agent.number,
                project=agent.project,
                model=agent.model,
                work_s=work_s,
                tools_s=tools_s,
                tokens=tokens,
                prompt_at=agent.prompt_at,
                first_at=self._clock.now,
            )
        )

    def _ask(self, request: Request) -> None:
        assert self.way is not None
        request.tries += 1
        request.waited = False
        self.way.ask(request)
