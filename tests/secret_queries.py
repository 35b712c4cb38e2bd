"""Queries that must fail, on the files of tests/secret_places.py."""

# They use the tables of shop.duckdb and files; `custext sql` runs them, and `connect` with `safe_errors`.
QUERIES = r"""
SELECT custext_sanitize(col, 1) FROM t
SELECT custext_sanitize_keyed(mp) FROM t
SELECT custext_sanitize(txt, -1, true) FROM t
SELECT custext_sanitize(txt, NULL, true) FROM t
SELECT custext_sanitize_keyed(txt, txt) FROM t
SELECT custext_sanitize(STRING, 1)
SELECT lower(un, 1) FROM t
SELECT st + 1 FROM t
SELECT st.nothing FROM t
SELECT nothing FROM t
SELECT txt::INT FROM t
SELECT txt::DATE FROM t
SELECT txt::INT[] FROM t
SELECT txt::STRUCT(a INT) FROM t
SELECT 'nothing'::e FROM t
SELECT col::INT FROM t
SELECT st::STRUCT(b INT) FROM t
SELECT error(txt) FROM t
SELECT error('Malformed JSON in file "' || txt || '", in line 3: ') FROM t
SELECT error('Python exception occurred while executing the UDF: ' || txt || ': x') FROM t
SELECT strptime(txt, '%Y') FROM t
SELECT regexp_matches('a', txt || '((') FROM t
SELECT map([txt, txt], [1, 2]) FROM t
SELECT CASE WHEN txt THEN 1 END FROM t
SELECT (SELECT txt FROM t)
SELECT txt, count(*) FROM t
SELECT nothing FROM (PIVOT (SELECT txt, id FROM t) ON txt USING sum(id))
SELECT lower(p, 1) FROM (PIVOT (SELECT txt, id FROM t) ON txt USING sum(id)) p
SET VARIABLE v = (SELECT any_value(txt) FROM t); FROM query_table(getvariable('v'))
SET VARIABLE v = (SELECT any_value(txt) FROM t); FROM read_parquet(getvariable('v'))
SET VARIABLE v = (SELECT any_value(txt) FROM t); FROM query('SELECT ' || getvariable('v') || ' FROM nothing')
SELECT IDENTIFIER
SELECT IDENTIFIER FROM t
SELECT id FROM t AS x(IDENTIFIER, IDENTIFIER) WHERE nothing = 1
SELECT TRY_CAST(1 AS IDENTIFIER)
FROM IDENTIFIER
FROM query_table(STRING)
SELECT STRING::INT
SELECT STRING STRING STRING
SELECT STRING x y z
SELECT 'TEXT' x y z
SELECT 'TEXT
SELECT custext_sanitize('TEXT, 1, true)
SELECT custext_sanitize('TEXT', 1, true) x y z
SELECT "TEXT
SELECT $tag$TEXT$tag$ x y z
SELECT 1 /* TEXT
SELECT E'TEXT' x y z
SELECT IDENTIFIER, ' FLAT '
SELECT IDENTIFIER, E'\' FLAT \''
SELECT IDENTIFIER, $$ FLAT $$
SELECT IDENTIFIER, ` FLAT `
SELECT IDENTIFIER /* a /* b */ FLAT */
SELECT IDENTIFIER -- FLAT
SELECT COLUMNS(STRING) FROM t
SELECT * EXCLUDE (IDENTIFIER) FROM t
SELECT st['x' || STRING] FROM t
SELECT nextval(STRING)
SET threads = STRING
EXECUTE nothing(STRING)
COPY (SELECT 1) TO 'nowhere/x.csv' (FORMAT IDENTIFIER)
SELECT nothing FROM 'headless.csv'
SELECT * EXCLUDE (nothing) FROM 'headless.csv'
SELECT a + 1 FROM read_csv('headless.csv', columns = {'a': 'INT', 'b': 'VARCHAR'}, header = false)
FROM read_csv('headless.csv', types = {'nothing': 'INT'})
SELECT id + 1 FROM read_csv('cells.csv', types = {'id': 'INT'}, header = true)
FROM read_csv('cells.csv', types = {'id': STRING}, header = true)
SELECT max(id), max(body) FROM 'late.csv'
SELECT max(COLUMNS(*)) FROM 'named.csv'
FROM read_csv('count.csv', columns = {'id': 'INT', 'body': 'VARCHAR'}, auto_detect = false, header = true)
FROM 'wrong.csv.gz'
FROM 'wrong.parquet'
FROM read_parquet(['cells.parquet', 'other.parquet'])
FROM read_parquet('headless.csv')
SELECT st.nothing FROM 'cells.parquet'
SELECT nothing FROM 'keys.jsonl'
SELECT n.nothing FROM 'keys.jsonl'
SELECT custext_sanitize(body, 1) FROM 'nested.jsonl'
SELECT body.nothing FROM 'nested.jsonl'
FROM 'broken.jsonl'
SELECT id + 1 FROM read_json('cells.jsonl', columns = {'id': 'INT'})
SELECT max(body) FROM 'late.jsonl'
""".strip().splitlines()
