# WebSockets that carry many answers, a slot for each of them (spec §10): the Responses protocol of Codex and Copilot.
