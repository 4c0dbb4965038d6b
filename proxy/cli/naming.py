# Which provider a person means: its id, or the name of an upstream of it.
#
# Rule 1: the running proxy's configuration decides.
# Rule 2: another id is taken as it is, since a limit may be set before its upstream exists, but not without a word.
# Rule 3: a word that is nearly one of the known names is a slip: nothing is set for it, since that would stay for ever.

import difflib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from proxy.cli.admin import Admin
from proxy.cli.failure import Failure

_NEARLY = 0.8  # of 1 in difflib's measure: one wrong or swapped letter in a word of five
_LIKE_A_HOST = re.compile("[.:]")  # what a provider is called that has no upstream yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """The provider's id. `doubt` says for people what speaks against it, "" if nothing does; a `slip` is surely
    wrong."""

    provider_id: str
    doubt: str = ""
    slip: bool = False

    def refuse_slip(self) -> None:
        """Failure if it is one."""
        if self.slip:
            raise Failure("unknown_provider", self.doubt)

    @contextmanager
    def known(self) -> Iterator[None]:
        """Within it the proxy's refusal is told with the names that people use, where another one was meant."""
        try:
            yield
        except Failure as failure:
            if failure.status is None or not self.doubt:
                raise
            known = "" if failure.code == "unknown_provider" else f"{failure.message}; "
            raise Failure(failure.code, f"{known}{self.doubt}", status=failure.status) from None


def named(admin: Admin, name: str) -> Named:
    """What `name` stands for at this proxy."""
    upstreams = admin.get("config")["upstreams"]
    providers = [str(upstream["provider"]) for upstream in upstreams.values()]
    if name in providers:
        return Named(provider_id=name)
    if name in upstreams:
        return Named(provider_id=str(upstreams[name]["provider"]))
    near = difflib.get_close_matches(name.lower(), [*upstreams, *providers], n=1, cutoff=_NEARLY)
    question = f'did you mean "{near[0]}"? ' if near else ""
    doubt = f"no upstream uses a provider {name}; {question}upstreams: {', '.join(upstreams)}"
    return Named(provider_id=name, doubt=doubt, slip=bool(near) and not _LIKE_A_HOST.search(name))
