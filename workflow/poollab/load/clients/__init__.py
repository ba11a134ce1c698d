"""One file for each client: driver, execution model and pool class, with the same five stamps."""
