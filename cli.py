"""Runs the command line from a checkout: python cli.py --help."""

from pathlib import Path

import custext_sql

custext_sql.__path__.append(str(Path(__file__).parent))  # so that custext_sql.migrations is found in a checkout

if __name__ == "__main__":
    from custext_sql.cli import main

    main(prog_name="custext")
