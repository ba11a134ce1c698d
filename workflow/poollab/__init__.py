"""
Poollab measures whether a larger Postgres connection pool makes the whole operation faster.

Flow, one way: study -> plan -> lab -> run (load) -> data -> stats -> report -> publish.
"""

__version__ = "0.1.0"

#: What a number means. Raise it when a stamp, a window, a counter or the warm-up changes its meaning:
#: results of another method are refused, never averaged in.
#: 1  first method: five stamps, zero at the first scheduled arrival, counters from zero to the last release.
#: 2  every row of an answer is taken, not only the first; the measuring process names zero for all generator processes.
#: 3  a request of psycopg-executor starts in its thread: the wait for a free one is no wait for a connection.
#:    A caller of a benchmark is due when its wave begins, and not when its task or thread first runs.
METHOD_VERSION = 3
