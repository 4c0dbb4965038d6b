"""What was: minutes of every provider, for the plots; and what happened in them, as marks."""

from proxy.service.history.history import History
from proxy.service.history.marks import KINDS, Mark
from proxy.service.history.points import Point

__all__ = ["KINDS", "History", "Mark", "Point"]
