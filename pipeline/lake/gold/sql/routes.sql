-- DOG's routes and redundancy.

-- name: route_stats (row)
SELECT run, CAST(SUM(CASE WHEN type = 105 THEN 1 ELSE 0 END) AS BIGINT) AS disabled,
       CAST(SUM(CASE WHEN type = 106 THEN 1 ELSE 0 END) AS BIGINT) AS enabled
FROM told WHERE type IN (105, 106) GROUP BY run

-- name: redundancy (gold)
SELECT run, peer, COUNT(*) AS looks, AVG(value) AS mean, MIN(at_ns) AS first_ns, MAX(at_ns) AS last_ns,
       MAX(CASE WHEN value < {redundancy_low} OR value > {redundancy_high} THEN at_ns END) AS last_outside_ns
FROM told WHERE type = 107 AND value IS NOT NULL AND at_ns IS NOT NULL GROUP BY run, peer

-- name: redundancy_stats (row)
SELECT r.run, COUNT(*) AS peers, AVG(r.mean) AS mean,
       COUNT(CASE WHEN last_outside_ns IS NULL OR last_outside_ns < r.last_ns THEN 1 END) AS stable,
       CAST(ROUND(MAX(CASE WHEN last_outside_ns < r.last_ns THEN last_outside_ns - s.first_ns ELSE 0 END)
         / 1e3) AS BIGINT) AS stable_after_us
FROM redundancy AS r JOIN run_spans AS s ON r.run = s.run GROUP BY r.run
