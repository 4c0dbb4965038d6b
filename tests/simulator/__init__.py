# A provider that says no, and the agents that ask it: for tests, for a look at what the queue does, for a demo.
#
# provider.py is one account at a provider, buckets.py and habits.py its parts, dialects.py the words in which it says
# no; all of them pure. server.py is that account as an HTTP server. fleet.py lets agents work under a simulated clock;
# ways.py is how their calls get to the provider: through the proxy's scheduler, directly, or through a semaphore.
# measure.py watches, report.py tells. commands.py and __main__.py: `python -m tests.simulator serve|run --help`.
