"""The data package: report, tables, study file, notes on fields, and checksums."""
