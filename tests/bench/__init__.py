# What the proxy costs, measured beside HAProxy and nginx in one run: `make bench`, or `python -m tests.bench --help`.
#
# fronts.py and rivals.py are the proxies under test, each a process of its own (front.py; bare.py and relayed.py are
# the ones that we wrote for it); upstream.py is what they all lead to and load.py who calls them, each in a process of
# its own as well (child.py). A front runs on one core, everything else on another (processor.py). bench.py is what rows
# share: these processes, and rounds in which the fronts take turns. hop.py, latency.py, delay.py, memory.py,
# queueing.py, cooldown.py, bodies.py and agents.py are the rows, figures.py their arithmetic, report.py and plot.py
# tell. queue_depth.py is the scheduler alone and needs none of this.
