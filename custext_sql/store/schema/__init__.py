"""The tables of a custext database and their revisions."""
