"""The view scores: the scores of all pairs of words, one per row, as people query them."""


def write_scores_view(schema: str = "") -> str:
    """Return the SQL that creates the view. schema: a prefix such as `custext.main.`; by default its own database."""
    return f"""
CREATE VIEW {schema}scores AS
SELECT score_rows.mapping, score_rows.group_id, inputs.token AS input, outputs.token AS output,
    CAST(score_rows.units[outputs.position + 1] AS DOUBLE) / 1048576 AS score
FROM {schema}score_rows AS score_rows
JOIN {schema}groups AS inputs
  ON inputs.mapping = score_rows.mapping AND inputs.group_id = score_rows.group_id
  AND inputs.position = score_rows.position
JOIN {schema}groups AS outputs ON outputs.mapping = score_rows.mapping AND outputs.group_id = score_rows.group_id
"""
