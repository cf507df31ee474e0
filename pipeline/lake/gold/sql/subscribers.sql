-- name: joins (kept)
SELECT run, peer, topic, t, CASE WHEN type = 9 THEN 1 ELSE -1 END AS delta
FROM (SELECT run, peer, topic, type, COALESCE(at_ns, seq) AS t,
             LAG(type) OVER (PARTITION BY run, peer, topic ORDER BY seq) AS before
      FROM told WHERE type IN (9, 10) AND topic IS NOT NULL AND peer IS NOT NULL) AS told
WHERE (type = 9 AND (before IS NULL OR before = 10)) OR (type = 10 AND before = 9)

-- name: subscriptions (view)
SELECT run, peer, topic, t AS since, until
FROM (SELECT run, peer, topic, t, delta,
             LEAD(t) OVER (PARTITION BY run, peer, topic ORDER BY t, delta) AS until
      FROM joins) AS spans
WHERE delta = 1

-- name: counted (view)
-- Whose subscribers are known: all that were published when somebody had joined anything.
SELECT o.run, o.message, o.publisher, o.topic, o.t
FROM origins AS o JOIN (SELECT run, MIN(t) AS t FROM joins GROUP BY run) AS j ON o.run = j.run AND j.t <= o.t
WHERE o.topic IS NOT NULL

-- name: expected (view)
SELECT run, CAST(SUM(members) AS BIGINT) AS expected FROM (
  SELECT run, message,
         SUM(delta) OVER (PARTITION BY run, topic ORDER BY t, place ROWS UNBOUNDED PRECEDING) AS members
  FROM (SELECT run, topic, t, 0 AS place, delta, CAST(NULL AS INT) AS message FROM joins
        UNION ALL SELECT run, topic, t, 1, 0, message FROM counted) AS timeline) AS running
WHERE message IS NOT NULL GROUP BY run

-- name: publishers_in (view)
SELECT c.run, COUNT(*) AS own FROM counted AS c
JOIN subscriptions AS s ON c.run = s.run AND c.publisher = s.peer AND c.topic = s.topic
WHERE s.since <= c.t AND (s.until IS NULL OR s.until > c.t) GROUP BY c.run

-- name: holders (view)
-- Who published what somebody else had published before has it as well.
SELECT run, message, peer FROM arrivals WHERE rank = 1
UNION SELECT t.run, t.message, t.peer
FROM told AS t JOIN origins AS o ON t.run = o.run AND t.message = o.message
WHERE t.peer <> o.publisher AND (t.type = 0 OR (t.type = 3 AND t.remote = t.peer))

-- name: reached (view)
SELECT a.run, COUNT(*) AS reached FROM holders AS a
JOIN counted AS c ON a.run = c.run AND a.message = c.message
JOIN subscriptions AS s ON a.run = s.run AND a.peer = s.peer AND c.topic = s.topic
WHERE s.since <= c.t AND (s.until IS NULL OR s.until > c.t) GROUP BY a.run

-- name: run_delivery (row)
SELECT e.run, e.expected - COALESCE(p.own, 0) AS expected, COALESCE(r.reached, 0) AS reached
FROM expected AS e LEFT JOIN publishers_in AS p ON e.run = p.run LEFT JOIN reached AS r ON e.run = r.run
