"""Runs the command line: python -m custext_sql."""

from custext_sql.cli import main

main(prog_name="custext")
