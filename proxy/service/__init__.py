"""The queue at work: futures and timers round the core, the gate's polls, the watchdog, telemetry, and the runtime."""
