"""Slotgate: a transparent reverse proxy that makes every client of an LLM provider wait its turn."""

__version__ = "0.1.0"
