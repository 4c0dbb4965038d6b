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
    made.set_alpn_protocols(["http/1.1"])
    made.options |= ssl.OP_NO_RENEGOTIATION  # TLS 1.2: in the middle of one nothing could be written
    return made


def contexts(upstreams: list[Upstream], file: str) -> dict[str, ssl.SSLContext | None]:
    """One per upstream name; None where the URL is plain http. ConfigErrors with every CA file that is not one."""
    made: dict[str, ssl.SSLContext | None] = {}
    shared: dict[Tls, ssl.SSLContext] = {}  # loading the system's authorities takes milliseconds
    problems: list[Problem] = []
    for upstream in upstreams:
        if not upstream.url.tls:
            made[upstream.name] = None
            continue
        try:
            if upstream.tls not in shared:
                shared[upstream.tls] = context(upstream.tls)
            made[upstream.name] = shared[upstream.tls]
        except (OSError, ssl.SSLError) as error:
            reason = error.strerror or type(error).__name__
            problems.append(
                Problem(
                    file=file,
                    line=None,
                    path=f"upstreams.{upstream.name}.tls.ca_file",
                    found=f"found {upstream.tls.ca_file}, which cannot be used: {reason}",
                    allowed="allowed: a readable file of PEM certificates",
                )
            )
    if problems:
        raise ConfigErrors(problems)
    return made
