# The client side of one TLS connection. Pure: encrypted bytes in and out, no socket.
#
# Rule 1: nothing is kept back: what `receive` decrypts and what it wants sent are its results, at once.
# Rule 2: an end counts only if the other side said it (close_notify): a bare FIN may be anybody's (RFC 8446 6.1).
#
# Not the event loop's own TLS: that tells no bare FIN from an announced end, hides how much is unsent, loses what came
# before a write failed, and uvloop's leaves a socket behind that is closed a second time, with another one's number.

import contextlib
import ssl

READ_MAX = 65536  # of one read: more than a record's 16 KiB


class TlsSession:
    """One session for `host`, by which the certificate is checked and which is named to the server (SNI)."""

    __slots__ = ("_incoming", "_outgoing", "_tls", "ended", "fault", "ready")

    def __init__(self, context: ssl.SSLContext, host: str) -> None:
        self.ready = False  # the handshake is over
        self.ended = False  # the other side has announced its end
        self.fault: ssl.SSLError | None = None  # what came last was no TLS, or an alert; all before it counts
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._incoming, self._outgoing, server_hostname=host.removesuffix(".")
        )  # RFC 6066 3

    def __repr__(self) -> str:
        return f"<TlsSession {'ended' if self.ended else 'ready' if self.ready else 'in handshake'}>"

    def receive(self, data: bytes) -> bytes:
        """Encrypted bytes have come: what they say. Afterwards `fault` tells of a failed handshake or broken bytes, and
        `to_send` has what the other side must get."""
        self._incoming.write(data)
        parts = []
        try:
            if not self.ready:
                self._shake_hands()
            while (self._incoming.pending or self._tls.pending()) and not self.ended:
                part = self._tls.read(READ_MAX)
                self.ended = not part
                parts.append(part)
        except ssl.SSLWantReadError:
            pass  # the rest of a record is to come
        except ssl.SSLZeroReturnError:
            self.ended = True
        except ssl.SSLError as error:
            self.fault = error
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def send(self, data: bytes) -> bytes:
        """What to send for `data`."""
        self._tls.write(data)
        return self._outgoing.read()

    def to_send(self) -> bytes:
        """What the session itself has to say: handshakes, alerts, new keys. Nothing most of the time."""
        return self._outgoing.read() if self._outgoing.pending else b""

    def start(self) -> bytes:
        """The first bytes of the handshake."""
        with contextlib.suppress(ssl.SSLWantReadError):
            self._shake_hands()
        return self._outgoing.read()

    def _shake_hands(self) -> None:
        self._tls.do_handshake()
        self.ready = True
