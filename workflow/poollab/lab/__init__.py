"""Where the database and the load generator live, with their caps, counters and clean-up."""
