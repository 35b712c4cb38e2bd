"""Commands and queries that must fail, on the files of tests/secret_places.py."""

from collections.abc import Callable

_KEYED = "--column body --key-file good.key --record-column"

# The arguments of `custext`. STRING, IDENTIFIER, NEAR, FLAT and TEXT stand for the secret: as a SQL string, as a SQL
# identifier, as a similar name, on one line, and unchanged.
COMMANDS = f"""
TEXT
'alice TEXT'
sanitize '--- TEXT'
sanitize '--TEXT'
sanitize '-x TEXT'
inspect a TEXT
attack TEXT
evaluate 'alice TEXT' more
sanitize TEXT --eps 0.0005
sanitize TEXT --eps nothing
sanitize TEXT --seed nothing
sanitize TEXT --column body
sanitize TEXT --mapping nothing
sanitize TEXT --key-file good.key
sanitize TEXT --key-file nothing.key
sanitize TEXT --max-row-eps -1
sanitize TEXT out.csv --column body
sanitize TEXT* out.csv --column body
sanitize TEXT out.txt
sanitize TEXT b c
sanitize --data shop.duckdb --table t TEXT more
sanitize 'alice TEXT' --max-row-eps 0.5
sanitize headless.csv out.csv
sanitize headless.csv out.csv --column nothing
sanitize headless.csv out.csv --column NEAR
sanitize headless.csv out.csv --column nothing --column NEAR
sanitize headless.csv out.txt --column NEAR
sanitize cells.csv out.csv --column bdy
sanitize cells.csv out.csv {_KEYED} id
sanitize cells.csv out.csv {_KEYED} nothing
sanitize null.csv out.csv {_KEYED} id
sanitize late.csv out.parquet --column body
sanitize count.csv out.csv --column body
sanitize latin.csv out.csv --column body
sanitize quote.csv out.csv --column body
sanitize count.csv out.csv --column body --no-quotes
sanitize comma.tsv out.csv --column body --no-quotes
sanitize comma.tsv out.csv --column id --no-quotes
leaks headless.csv --column NEAR --no-quotes
sanitize headers out.csv --column body
sanitize mixed out.csv --column body
sanitize schemas out.parquet --column body
sanitize wrong.csv.gz out.csv --column body
sanitize wrong.txt.gz out.txt
sanitize wrong.parquet out.parquet --column body
sanitize wrong.bin out.csv --column body
sanitize wrong.bin out.csv --column body --format json
sanitize cut.txt.gz out.txt
sanitize latin.txt out.txt
sanitize words.txt out.txt --max-row-eps 0.5
sanitize keys.jsonl out.jsonl
sanitize keys.jsonl out.jsonl --column NEAR
sanitize keys.json out.json --column nothing
sanitize keys.jsonl out.jsonl --column n
sanitize nested.jsonl out.jsonl --column body
sanitize broken.jsonl out.jsonl --column body
sanitize cut.json out.json --column body
sanitize texts.json out.json --column body
sanitize bytes.jsonl out.jsonl --column body
sanitize twice.jsonl out.jsonl --column body
sanitize late.jsonl out.parquet --column body
sanitize headless.csv out.jsonl --column body --format json
sanitize cells.parquet out.parquet --column st
sanitize cells.parquet out.parquet {_KEYED} nothing
sanitize --data shop.duckdb --table t new --column st
sanitize --data shop.duckdb --table t new --column lst
sanitize --data shop.duckdb --table t new --column NEAR
sanitize --data shop.duckdb --table t t --column txt
sanitize --data shop.duckdb --table t new --column txt --key-file good.key --record-column txt
sanitize --data shop.duckdb --table cast_view new --column body
sanitize --data shop.duckdb --table gone new --column body
sanitize --data shop.duckdb --table headless.csv new --column NEAR
sanitize --data wrong.duckdb --table t new --column body
diff TEXT --column body
diff headless.csv --column NEAR
diff latin.txt
diff --data shop.duckdb --table t --column st
diff shop.duckdb --column txt
diff latin.txt --encoding utf-16
diff null.csv --column body --key-file good.key --record-column id
diff --data shop.duckdb --table cast_view --column body --key-file good.key --record-column txt
leaks TEXT --column body
leaks broken.jsonl --column body
leaks --data shop.duckdb --table t --column st
leaks cells.csv --column body --output out.txt
leaks cells.csv --column body --keep-words latin.txt
choose headless.csv --max-attack 0.4 --column NEAR
choose late.jsonl --column body --k 2,3 --plus
choose --max-attack 0.4 --prior unknown.txt
attack bayes --public headless.csv --public-column NEAR
attack bayes --public latin.txt
attack bayes --prior prior.txt
attack bayes --prior many.txt
attack bayes --prior cut.zip
attack context words.txt --public headless.csv --public-column NEAR
attack context latin.txt --public words.txt
choose broken.jsonl --column body --attack context --max-attack 0.4 --public words.txt
playground --public headless.csv --public-column NEAR
playground --public latin.txt
playground --public words.txt --public-column TEXT
attack query TEXT
inspect TEXT
attack mask broken.jsonl --model ngram --column body --public words.txt
attack mask latin.txt --model ngram --public words.txt
choose --data shop.duckdb --table t --column NEAR --max-attack 0.4
choose TEXT --max-attack 0.4
evaluate utility --data shop.duckdb --train-table t --test-table t --text NEAR --label st
report headless.csv --html out.html --column NEAR
report cells.csv --html out.html --column bdy
report cells.csv --column body --dataset ''
evaluate utility --train headless.tsv --test headless.tsv --text NEAR
evaluate utility --train headless.tsv --test headless.tsv --text 9 --label 1 --no-header
evaluate utility --train headless.tsv --test headless.tsv --text sentence --limit 0
evaluate utility --train headless.csv --test headless.csv --text NEAR --label nothing
evaluate utility --train keys.jsonl --test keys.jsonl --text NEAR --label x
evaluate utility --train train.tsv --test test.tsv --text sentence
evaluate utility --train one.tsv --test one.tsv --text sentence
evaluate utility --train train.tsv --test latin.tsv --text sentence
evaluate utility --train train.tsv --test stray.tsv --text sentence
evaluate utility --train train.tsv --test test.tsv --text sentence --text other --task similarity
evaluate utility --corpus wrong.zip
evaluate utility --corpus cut.zip
evaluate utility --corpus empty.zip
load vectors.txt --name new
load ragged.txt --name new
load vectors.bin --name new --format word2vec-binary
load header.npz --name new
load kind.npz --name new
load wrong.parquet --name new --format parquet
load cells.parquet --name new
load cut.txt.gz --name new
load latin.txt --name new
sanitize alice --key-file text.key
sanitize alice --key-file other.key
sanitize alice --key-file format.key
sanitize alice --key-file secret.key
sanitize alice --key-file unknown.key
sanitize alice --key-file parts.key
sanitize alice --key-file mapping.key
sql 'SELECT 1' --key-file language.key
sql 'SELECT 1' --key-file check.key
sql 'SELECT 1' --data wrong.duckdb
sql 'SELECT 1' --data headless.csv
sql 'SELECT STRING AS IDENTIFIER' --output out.csv
sql "COPY (SELECT STRING) TO 'out.csv'"
sql 'SELECT txt FROM t' --data shop.duckdb --output out.parquet --json
sql 'SELECT custext_sanitize(STRING, 1, true)' --dataset ''
sanitize words.txt out.txt --budget-total 0.5
sanitize cells.csv out.csv --column body --budget-total 0.5
sanitize 'alice TEXT' --budget-total 0.5
sanitize --data shop.duckdb --table t new.more.names --column txt
--db wrong.duckdb info
--db wrong.bin compact
ledger TEXT
ledger strike TEXT --reason TEXT
ledger strike abc123 --reason TEXT
ledger unstrike TEXT
--db wrong.bin sanitize alice
""".strip().splitlines()

# Commands that read standard input, and its content.
STREAMS: dict[str, Callable[[bytes], bytes]] = {
    "sanitize - -": lambda text: text + b"\xff\n",
    "sanitize - out.txt": lambda text: text + b"\xff\n",
    "sanitize - - --format csv --column NEAR": lambda text: text + b",x\n1,2\n",
    "sanitize - - --format csv --column body": lambda text: b'id,body\n1,"' + text + b'" x\n2,3,4\n5,6,7\n',
    "sanitize - - --format tsv": lambda text: text + b"\tx\n",
    "sanitize - - --format json --column body": lambda text: b'{"body": ' + text + b"\n",
    "sanitize - - --format parquet --column body": lambda text: text * 10,
}

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
