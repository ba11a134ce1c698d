"""The study as typed, validated data: one model for errors, editor schema and documentation."""
