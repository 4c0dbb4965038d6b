# Several processes with one truth: a provider's queue in Redis (spec §16).
#
# lua/ is the queue itself, as one script; script.py is how it is spoken to, mirror.py how it is looked at. What keeps a
# connection, and puts a replica's requests through it, is still to come: until then `state: redis://…` is refused.
