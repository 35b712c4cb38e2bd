"""The table macro custext_distribution: the possible replacements of a word, for any DuckDB client."""


def write_distribution_macro(schema: str = "") -> str:
    """Return the SQL that creates the macro. schema: a prefix such as `custext.main.`; by default its own database."""
    return f"""
CREATE MACRO custext_distribution(word, eps) AS TABLE
SELECT output, score, weight / sum(weight) OVER () AS probability
FROM (
    SELECT output, score, exp(score / 2 * CASE
        WHEN CAST(eps AS DOUBLE) BETWEEN 0.001 AND 100 THEN CAST(eps AS DOUBLE)
        ELSE CAST(
            error('eps must lie between 0.001 and 100; found ' || coalesce(CAST(eps AS VARCHAR), 'NULL')) AS DOUBLE
        )
    END) AS weight
    FROM {schema}scores
    WHERE mapping = (SELECT value FROM {schema}settings WHERE key = 'default_mapping')
      AND input = lower(replace(word, chr(8217), chr(39)))
)
ORDER BY probability DESC, output
"""
