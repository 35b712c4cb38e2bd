# A data engineer has messages between patients and a clinic in a DuckDB table, and has to hand them to analysts.

# What would leak, and what would be masked?
custext leaks --data hospital.duckdb --table messages --column body --output words.csv
custext diff --data hospital.duckdb --table messages --column body --sample 3

# The labels of speakers are public and should stay.
custext diff --data hospital.duckdb --table messages --column body --keep-words labels.txt --rows 4
custext diff --data hospital.duckdb --table messages --column body --policy paper --only-leaks --rows 2

# Which setting is good enough?
custext choose --data hospital.duckdb --table messages --column body --mapping starter --max-attack 0.6

# A first release, into a new table, with every word replaced by the representative of its group.
custext sanitize --data hospital.duckdb --table messages messages_clean --column body --eps 0 --keep-words labels.txt
custext sql "SELECT count(*) AS messages FROM messages_clean" --data hospital.duckdb

# The analysts also need a weekly file in which the same message is always the same.
custext keygen messages.key --eps 1 --keep-words labels.txt
custext diff --data hospital.duckdb --table messages --column body --key-file messages.key --record-column id --rows 2
custext sanitize --data hospital.duckdb --table messages week.parquet --column body --key-file messages.key --record-column id \
    --max-row-eps 60

# What does the person read who has to sign?
custext report --data hospital.duckdb --table messages --column body --eps 0 --keep-words labels.txt
custext report --data hospital.duckdb --table messages --column body --eps 0 --keep-words labels.txt --html verdict.html

# The file was deleted before anyone saw it: the ledger says so, and still counts it.
custext ledger
release=$(custext ledger --json | python -c "import json, sys; print(json.load(sys.stdin)['releases'][-1]['release_id'][:8])")
custext ledger strike "$release" --reason "deleted before anyone opened it"
custext ledger

# Tidy up.
custext compact
