"""The decisions, without a clock or I/O: who gets a slot, when, and what follows from a rate limit."""
