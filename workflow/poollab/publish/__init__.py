"""The data package: report, tables, study file, notes on fields, checksums; its proof, and the report made from it."""
