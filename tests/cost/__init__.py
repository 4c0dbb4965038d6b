# What a request and a chunk cost, counted instead of timed: `python -m tests.cost`, and the test beside it.
#
# work.py are the units that are counted, rig.py what they need: the real proxy with a blocking socket on either side.
# It runs and is counted (meter.py) in a process of its own: process.py, started by measure.py. figures.py is the
# arithmetic; ceilings.py keeps figures, in a file for each minor version of Python: their bytecodes differ.
