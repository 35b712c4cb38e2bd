"""The table macro custext_distribution: the possible replacements of a word, for any DuckDB client."""


def write_distribution_macro(schema: str = "") -> str:
    """Return the SQL that creates the macro. schema: a prefix such as `custext.main.`; by default its own database."""
    return f"""
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
ORDER BY probability DESC, output
"""
