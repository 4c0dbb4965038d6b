# What systemd and we tell each other: sockets it opened, messages to it, how often it wants to hear from us.
#
# Rule 1: everything is read from the environment that is passed in; nothing is cleared in it.
# Rule 2: whoever runs without systemd notices nothing: no variable means nothing to do.
# Rule 3: a message that cannot be sent never stops the proxy.

import socket
from collections.abc import Mapping

READY = "READY=1"
STOPPING = "STOPPING=1"
ALIVE = "WATCHDOG=1"

_FIRST_FD = 3  # sd_listen_fds(3): after stdin, stdout and stderr
_UNNAMED = "unknown"  # sd_listen_fds_with_names(3): what a socket is called that has no name
_PATIENCE_S = 1.0  # systemd reads at once; a full queue on its side must not hold the event loop for long


def notify(message: str, env: Mapping[str, str]) -> None:
    """Sends the message (`READY`, `STOPPING`, `ALIVE`, `reloading(…)`, or several lines) to the service manager, if
    $NOTIFY_SOCKET names one; see sd_notify(3). Never raises."""
    address = env.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    if address.startswith("@"):  # an abstract socket
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.settimeout(_PATIENCE_S)
            sock.sendto(message.encode(), address)
    except (OSError, UnicodeEncodeError):
        return


def reloading(monotonic_ns: int) -> str:
    """The message at the start of a reload; `READY` ends it. It takes time.monotonic_ns(): an event loop's cached time
    may lie before the signal, and systemd would take the message for an older reload's."""
    return f"RELOADING=1\nMONOTONIC_USEC={monotonic_ns // 1000}"


def watchdog_interval_s(env: Mapping[str, str], pid: int) -> float | None:
    """Seconds from one `ALIVE` to the next: half of what systemd waits, as sd_watchdog_enabled(3) advises. None when
    nobody waits for this process."""
    if env.get("WATCHDOG_PID", str(pid)) != str(pid):
        return None
    patience_us = _number(env.get("WATCHDOG_USEC"))
    return patience_us / 2_000_000 if patience_us else None


def inherited(env: Mapping[str, str], pid: int) -> dict[str, list[int]]:
    """The listening sockets that systemd opened for this process: file descriptors by FileDescriptorName, in the
    order of the units. Empty when there are none."""
    if env.get("LISTEN_PID") != str(pid):
        return {}
    names = env.get("LISTEN_FDNAMES", "").split(":")
    found: dict[str, list[int]] = {}
    for index in range(_number(env.get("LISTEN_FDS"))):
        name = names[index] if index < len(names) else ""
        found.setdefault(name or _UNNAMED, []).append(_FIRST_FD + index)
    return found


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() else 0
