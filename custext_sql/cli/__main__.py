"""python -m custext_sql.cli"""

from custext_sql.cli import main

main(prog_name="custext")
