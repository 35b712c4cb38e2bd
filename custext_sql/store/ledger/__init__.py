"""The ledger of releases: entries, totals, budgets."""
