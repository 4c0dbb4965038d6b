# How upstreams are verified.

import ssl

from proxy.config import Tls, Upstream
from proxy.errors import ConfigErrors, Problem


def context(tls: Tls) -> ssl.SSLContext:
    """The client side of TLS, by the system's authorities or by `ca_file` alone; speaks HTTP/1.1 only. OSError or
    ssl.SSLError for a file that cannot be used."""
    made = ssl.create_default_context(cafile=None if tls.ca_file is None else str(tls.ca_file))
    if not tls.verify:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    made.minimum_version = ssl.TLSVersion.TLSv1_2  # some builds of Python begin with less (RFC 8996)
    made.set_alpn_protocols(["http/1.1"])
    made.options |= ssl.OP_NO_RENEGOTIATION  # TLS 1.2: in the middle of one nothing could be written
    return made


class Contexts:
    """Contexts that stay the same from one configuration to the next, as long as their files do: connections that were
    made by them can be kept."""

    def __init__(self) -> None:
        self._made: dict[tuple[Tls, bytes], ssl.SSLContext] = {}

    def __repr__(self) -> str:
        return f"<Contexts {len(self._made)}>"

    def renew(
        self, upstreams: list[Upstream], file: str
    ) -> tuple[dict[str, ssl.SSLContext | None], ssl.SSLContext | None]:
        """One per upstream name, None where the URL is plain http; and one for forward proxies that are reached over
        TLS, if there are any: those are verified by the system's authorities. ConfigErrors with every CA file of the
        configuration `file` that is not one."""
        kept: dict[tuple[Tls, bytes], ssl.SSLContext] = {}

        def of(tls: Tls) -> ssl.SSLContext:
            key = (tls, b"" if tls.ca_file is None else tls.ca_file.read_bytes())
            kept[key] = kept.get(key) or self._made.get(key) or context(tls)
            return kept[key]

        by_name: dict[str, ssl.SSLContext | None] = {}
        problems: list[Problem] = []
        for upstream in upstreams:
            try:
                by_name[upstream.name] = of(upstream.tls) if upstream.url.tls else None
            except (OSError, ssl.SSLError) as error:
                problems.append(_unusable(upstream, error, file))
        if problems:
            raise ConfigErrors(problems)
        reached_over_tls = any(upstream.proxy is not None and upstream.proxy.tls for upstream in upstreams)
        to_proxies = of(Tls()) if reached_over_tls else None
        self._made = kept
        return by_name, to_proxies


def _unusable(upstream: Upstream, error: OSError, file: str) -> Problem:
    return Problem(
        file=file,
        line=None,
        path=f"upstreams.{upstream.name}.tls.ca_file",
        found=f"found {upstream.tls.ca_file}, which cannot be used: {error.strerror or type(error).__name__}",
        allowed="allowed: a readable file of PEM certificates",
    )
