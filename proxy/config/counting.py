# Which requests take a slot (spec §6.1): those that make the provider generate tokens.
#
# Rule 1: this is asked for every request, before its body is read: method and path are all it may look at.
# Rule 2: WebSocket upgrades are counted elsewhere, whatever their method.

from .settings import Upstream


def counted(upstream: Upstream, method: str, path: str) -> bool:
    """Whether the request takes a slot. `path` is the raw one as sent upstream, without the query. An exception that
    ends in a slash stands for whole segments anywhere in the path; any other one for the path's end."""
    rules = upstream.counted
    if method not in rules.methods:
        return False
    closed = path + "/"  # "/v1/files" lies under "/files/" too
    return not any(rule in closed if rule.endswith("/") else path.endswith(rule) for rule in rules.except_)
