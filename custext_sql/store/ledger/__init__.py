"""What was released: entries, totals, budgets."""
