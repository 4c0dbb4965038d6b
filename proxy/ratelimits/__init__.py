# How providers say no: what an answer's status, headers and body mean for the queue. Pure: no clock, no I/O.
#
# grammar.py reads one value, buckets.py the allowances in headers, bodies.py the error fields of bodies; waits.py
# chooses among the waits that are stated; rules.py and dialects.py hold what words and codes mean, as rows of the type
# in rule.py; classifier.py joins all that. decoding.py is for whoever copies the body.

from proxy.ratelimits.classifier import Left, Verdict, classify, requests_left
from proxy.ratelimits.decoding import decoded

__all__ = ["Left", "Verdict", "classify", "decoded", "requests_left"]
