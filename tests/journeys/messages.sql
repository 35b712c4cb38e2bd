-- Messages between patients and a clinic, all invented. DuckDB makes the same 400 rows every time.
CREATE TABLE messages AS
WITH parts AS (
    SELECT
        ['Maria Kowalczyk', 'James Okafor', 'Ines Albuquerque', 'Tom Brady', 'Yusuf Demir', 'Anna Schmidt'] AS names,
        ['Dr. Patel', 'Dr. Lindqvist', 'Dr. Brown', 'Dr. Nakamura'] AS doctors,
        ['chest pain', 'a rash on my arm', 'a bad cough', 'trouble sleeping', 'dizziness', 'pain in my left knee'] AS complaints,
        ['metoprolol', 'ibuprofen', 'amoxicillin', 'sertraline', 'insulin'] AS drugs,
        ['Boston', 'Leeds', 'Tromsø', 'Kraków', 'Austin'] AS towns
), chosen AS (
    SELECT
        id,
        names[1 + id % len(names)] AS name,
        doctors[1 + (id * 7) % len(doctors)] AS doctor,
        complaints[1 + (id * 5) % len(complaints)] AS complaint,
        drugs[1 + (id * 3) % len(drugs)] AS drug,
        towns[1 + (id * 11) % len(towns)] AS town,
        DATE '1950-01-01' + CAST((id * 97) % 18000 AS INTEGER) AS born,
        DATE '2024-01-01' + CAST(id % 300 AS INTEGER) AS day
    FROM parts, range(1, 401) AS rows (id)
)
SELECT
    id,
    day AS sent,
    CASE id % 4
        WHEN 0 THEN 'Patient: I have ' || complaint || ' since ' || strftime(day, '%d/%m/%Y') || '. My number is +44 7700 900'
            || lpad(CAST(id AS VARCHAR), 3, '0') || '. ' || name
        WHEN 1 THEN 'Nurse: ' || name || ' (born ' || strftime(born, '%Y-%m-%d') || ') from ' || town || ' should stop '
            || drug || ' and see ' || doctor || ' at 10:30.'
        WHEN 2 THEN 'Patient: Please send the results to ' || lower(replace(name, ' ', '.')) || '@example.org, not to my son.'
        ELSE 'Doctor: No change. Continue ' || drug || ' ' || (id % 9 + 1) * 50 || ' mg, and come back in two weeks.'
    END AS body
FROM chosen
ORDER BY id;
