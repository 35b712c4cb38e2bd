-- Tables, view and macro of revision 0001, for new databases and for migrations.
-- {schema} is the prefix of an attached database, such as "custext.main.".

CREATE TABLE embeddings (
    name VARCHAR PRIMARY KEY,
    source VARCHAR NOT NULL,
    format VARCHAR NOT NULL,
    dimension INTEGER NOT NULL,
    size INTEGER NOT NULL,
    sha256 VARCHAR NOT NULL,
    created_at TIMESTAMP NOT NULL
);
COMMENT ON COLUMN embeddings.source IS 'name of the file, or a scheme and a name, such as spacy:PIPELINE';
COMMENT ON COLUMN embeddings.size IS 'number of entries';
COMMENT ON COLUMN embeddings.sha256 IS 'hash of the source';
COMMENT ON COLUMN embeddings.created_at IS 'UTC';

CREATE TABLE tokens (
    embedding VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    token VARCHAR NOT NULL
);
COMMENT ON COLUMN tokens.position IS 'position in the file, from 0';
COMMENT ON COLUMN tokens.token IS 'the entry, in lower case';

CREATE TABLE vectors (
    embedding VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    vector FLOAT[] NOT NULL
);
COMMENT ON COLUMN vectors.vector IS 'has embeddings.dimension numbers';

CREATE TABLE mappings (
    name VARCHAR PRIMARY KEY,
    embedding VARCHAR NOT NULL,
    embedding_sha256 VARCHAR NOT NULL,
    measure VARCHAR NOT NULL,
    larger_is_closer BOOLEAN NOT NULL,
    k INTEGER NOT NULL,
    grouping VARCHAR NOT NULL,
    normalization VARCHAR NOT NULL,
    pivot_order VARCHAR NOT NULL,
    seed BIGINT,
    stopword_language VARCHAR,
    word_limit INTEGER,
    words INTEGER NOT NULL,
    group_count INTEGER NOT NULL,
    left_out INTEGER NOT NULL,
    fingerprint VARCHAR NOT NULL,
    ranks_sha256 VARCHAR NOT NULL,
    created_at TIMESTAMP NOT NULL
);
COMMENT ON COLUMN mappings.embedding IS 'name of the embedding; a mapping remains when it is dropped';
COMMENT ON COLUMN mappings.k IS 'words per group';
COMMENT ON COLUMN mappings.grouping IS 'greedy or refined';
COMMENT ON COLUMN mappings.seed IS 'seed of the random pivot order';
COMMENT ON COLUMN mappings.stopword_language IS 'language of the stopwords that were grouped separately';
COMMENT ON COLUMN mappings.word_limit IS 'entries of the embedding used, from the first on; NULL for all';
COMMENT ON COLUMN mappings.left_out IS 'entries used that are not single words';
COMMENT ON COLUMN mappings.fingerprint IS 'SHA-256 hash of words, groups and scores';
COMMENT ON COLUMN mappings.ranks_sha256 IS 'SHA-256 hash of the ranks of words';
COMMENT ON COLUMN mappings.created_at IS 'UTC';

CREATE TABLE groups (
    mapping VARCHAR NOT NULL,
    token VARCHAR NOT NULL,
    group_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    rank INTEGER NOT NULL
);
COMMENT ON COLUMN groups.position IS 'position within the group, from 0';
COMMENT ON COLUMN groups.rank IS 'position in the vector file, from 0; frequent words come first';

CREATE TABLE score_rows (
    mapping VARCHAR NOT NULL,
    group_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    units INTEGER[] NOT NULL
);
COMMENT ON COLUMN score_rows.position IS 'position of the input word within the group';
COMMENT ON COLUMN score_rows.units IS
    'score of each output word, in the order of positions, in multiples of 2**-20';

CREATE TABLE stopwords (
    language VARCHAR,
    word VARCHAR,
    source VARCHAR NOT NULL,
    PRIMARY KEY (language, word)
);

CREATE TABLE settings (
    key VARCHAR PRIMARY KEY,
    value VARCHAR NOT NULL
);

CREATE VIEW {schema}scores AS
SELECT score_rows.mapping, score_rows.group_id, inputs.token AS input, outputs.token AS output,
    CAST(score_rows.units[outputs.position + 1] AS DOUBLE) / 1048576 AS score
FROM {schema}score_rows AS score_rows
JOIN {schema}groups AS inputs
  ON inputs.mapping = score_rows.mapping AND inputs.group_id = score_rows.group_id
  AND inputs.position = score_rows.position
JOIN {schema}groups AS outputs ON outputs.mapping = score_rows.mapping AND outputs.group_id = score_rows.group_id;

CREATE MACRO custext_distribution(word, eps) AS TABLE
SELECT output, score, weight / sum(weight) OVER () AS probability
FROM (
    SELECT output, score, CASE
        WHEN CAST(eps AS DOUBLE) = 0 THEN CAST(rank = min(rank) OVER () AS DOUBLE)
        WHEN CAST(eps AS DOUBLE) BETWEEN 0.001 AND 100 THEN exp(score / 2 * CAST(eps AS DOUBLE))
        ELSE CAST(
            error('eps must be 0, or between 0.001 and 100; found ' || coalesce(CAST(eps AS VARCHAR), 'NULL'))
            AS DOUBLE
        )
    END AS weight
    FROM (
        SELECT outputs.token AS output, outputs.rank,
            CAST(score_rows.units[outputs.position + 1] AS DOUBLE) / 1048576 AS score
        FROM {schema}score_rows AS score_rows
        JOIN {schema}groups AS inputs
          ON inputs.mapping = score_rows.mapping AND inputs.group_id = score_rows.group_id
          AND inputs.position = score_rows.position
        JOIN {schema}groups AS outputs
          ON outputs.mapping = score_rows.mapping AND outputs.group_id = score_rows.group_id
        WHERE inputs.mapping = (SELECT value FROM {schema}settings WHERE key = 'default_mapping')
          AND inputs.token = lower(replace(word, chr(8217), chr(39)))
    )
)
ORDER BY probability DESC, output;
