# What a model says, before it is put into a dialect.

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    text: str

    @property
    def pieces(self) -> list[str]:
        """As it is streamed: word by word."""
        words = self.text.split(" ")
        return [words[0], *(f" {word}" for word in words[1:])]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    id: str
    name: str
    arguments: Mapping[str, object]


Said = Text | ToolCall
IN, OUT = 100, 20  # tokens, whatever was said
