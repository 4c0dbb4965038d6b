"""`slotgate demo`: simulated agents at a simulated provider, through a real proxy, all on this machine."""
