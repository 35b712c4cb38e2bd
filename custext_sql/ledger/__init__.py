"""The ledger: a database of its own with every release, what it spent, and the budgets it must keep."""
