# The client's side of a connection that has switched to another protocol: raw bytes on their way upstream.

from collections.abc import Callable

from proxy.wire.exchange import Exchange
from proxy.wire.relay import Meter


class UpstreamTunnel:
    """Passes what the client says to `exchange`'s upstream; `moved` counts it. Its answer comes by the exchange."""

    def __init__(self, exchange: Exchange, meter: Meter, now: Callable[[], float]) -> None:
        self.moved = 0
        self._exchange = exchange
        self._meter = meter
        self._now = now

    def __repr__(self) -> str:
        return f"<UpstreamTunnel {self.moved} bytes up>"

    def data(self, data: bytes) -> None:
        self._meter.last_byte_at = self._now()
        self.moved += len(data)
        self._exchange.send(data)

    def end(self) -> None:
        """The client has half-closed; the upstream may still speak."""
        self._exchange.connection.write_end()
