# Who vouches for upstreams in tests, and the certificates that it, and others, give them.

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme


class Authority:
    """A certificate authority; `file` is what `tls.ca_file` names to trust it."""

    def __init__(self, directory: Path) -> None:
        self._ca = trustme.CA()
        self.file = directory / "authority.pem"
        self._ca.cert_pem.write_to_path(self.file)

    def server(self, *names: str, of: ssl.TLSVersion | None = None) -> ssl.SSLContext:
        """A server's context with a good certificate for these names; `of` is the only version that it speaks."""
        context = self._issued(*names)
        if of is not None:
            context.minimum_version = context.maximum_version = of
        return context

    def expired(self, name: str) -> ssl.SSLContext:
        now = datetime.now(UTC)
        return self._issued(name, not_before=now - timedelta(days=2), not_after=now - timedelta(days=1))

    def not_yet_valid(self, name: str) -> ssl.SSLContext:
        now = datetime.now(UTC)
        return self._issued(name, not_before=now + timedelta(days=1), not_after=now + timedelta(days=2))

    def _issued(self, *names: str, **options: datetime) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._ca.issue_cert(*names, **options).configure_cert(context)
        return context


def self_signed(directory: Path) -> ssl.SSLContext:
    """A server's context whose certificate nobody else has signed."""
    own, file = trustme.CA(), directory / "self-signed.pem"
    own.cert_pem.write_to_path(file)
    own.private_key_pem.write_to_path(file, append=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context
