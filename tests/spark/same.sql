-- Runs unchanged on DuckDB and on Spark, on a table reviews (id, body, title, stars).
-- Everything in it gives the same result every time: keyed draws, eps = 0, and what would be spent.
SELECT
    id,
    custext_sanitize_keyed(body, CAST(id AS STRING)) AS keyed,
    custext_sanitize(body, 0, false) AS generalized,
    custext_sanitize(title, 0.0, stars > 3) AS generalized_plus,
    custext_epsilon(body, 0.3, true) AS spent,
    custext_epsilon(title, CASE WHEN stars > 3 THEN 0.7 ELSE 0 END, false) AS spent_by_stars,
    upper(custext_sanitize_keyed(title, concat('title:', CAST(id AS STRING)))) AS shouted
FROM reviews
WHERE custext_epsilon(body, 1, false) < 20 OR body IS NULL
