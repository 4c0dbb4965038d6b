# The time as the server has it, estimated from its answers. Pure.
#
# Rule: the server said its time between a call and the answer. What is believed stays while it agrees with that, so
#       that one moment has one name, and moves no further than it must: an answer that came late tells little.


class ServerClock:
    """`ahead_s`: how far the process' clock is ahead of the server's, in seconds; None: nothing was heard."""

    __slots__ = ("ahead_s",)

    def __init__(self) -> None:
        self.ahead_s: float | None = None

    def __repr__(self) -> str:
        return f"<ServerClock {'unknown' if self.ahead_s is None else f'{-self.ahead_s:+.3f} s'}>"

    def heard(self, said: float, *, called_at: float, now: float) -> None:
        """The server's time in the answer that came `now` to the call of `called_at`."""
        least, most = called_at - said, now - said
        believed = (least + most) / 2 if self.ahead_s is None else self.ahead_s
        self.ahead_s = min(max(believed, least), most)
