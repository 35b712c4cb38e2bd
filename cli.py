"""Runs the command line from a checkout: python cli.py --help."""

from custext_sql.cli import main

if __name__ == "__main__":
    main(prog_name="custext")
