# Sockets are tested through the rig, with raw sockets on both sides.

from rawsides.fixtures import rig, start

__all__ = ["rig", "start"]
