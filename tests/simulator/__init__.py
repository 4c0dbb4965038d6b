# A provider that says no, and the agents that ask it: `python -m tests.simulator serve|run --help`.
#
# provider.py is one account at a provider, buckets.py and habits.py its parts, dialects.py the words in which it says
# no; all of them pure. server.py is that account as an HTTP server: `async with serving(Terms(limit=4)) as provider`.
# simulation.py lets a fleet of agents (fleet.py, work.py, sdk.py) work through hours under a simulated clock. Their
# calls take a line (line.py) to the account: through the proxy's scheduler (proxied.py, queueing.py), or without it
# (unproxied.py). unrest.py disturbs them, measure.py watches, report.py tells.
