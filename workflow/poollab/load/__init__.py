"""The load generator: what runs while the clock runs. It imports its driver, uvloop and the standard library."""
