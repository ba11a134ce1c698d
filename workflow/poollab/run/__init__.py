"""One cell: start the generator, sample, judge the run, keep its rows."""
