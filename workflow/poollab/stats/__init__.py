"""Numbers from rows: intervals, percentiles, usage; for runs and pooled over a condition's runs."""
