"""Arrow schemas with their history, and files that are complete or absent."""
