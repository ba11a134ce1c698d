"""The twelve benchmark families: closed loops over a pool, run in the capped generator process."""
