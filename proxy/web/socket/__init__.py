"""WebSockets that carry many answers, a slot for each: the Responses protocol of Codex and Copilot (spec §10)."""
