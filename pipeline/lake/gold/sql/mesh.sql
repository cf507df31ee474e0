-- name: mesh_changes (view)
-- A peer that is lost leaves every mesh, and no PRUNE says so.
SELECT run, peer, remote, topic, seq, at_ns, CASE WHEN type = 11 THEN 1 ELSE 0 END AS held
FROM told WHERE type IN (11, 12) AND peer IS NOT NULL AND remote IS NOT NULL AND topic IS NOT NULL
UNION ALL
SELECT c.run, c.peer, c.remote, g.topic, c.seq, c.at_ns, 0
FROM told AS c
JOIN (SELECT DISTINCT run, peer, remote, topic FROM told WHERE type = 11 AND topic IS NOT NULL) AS g
  ON c.run = g.run AND c.peer = g.peer AND c.remote = g.remote
WHERE c.type = 5

-- name: mesh_spans (gold)
SELECT run, peer, remote, topic, seq AS start_seq, at_ns AS start_ns, end_seq, end_ns
FROM (SELECT run, peer, remote, topic, seq, at_ns, held,
             LEAD(seq) OVER (PARTITION BY run, peer, remote, topic ORDER BY seq) AS end_seq,
             LEAD(at_ns) OVER (PARTITION BY run, peer, remote, topic ORDER BY seq) AS end_ns
      FROM (SELECT *, LAG(held) OVER (PARTITION BY run, peer, remote, topic ORDER BY seq) AS before
            FROM mesh_changes) AS told
      WHERE held <> COALESCE(before, 0)) AS turns
WHERE held = 1

-- name: mesh_turns (view)
SELECT run, peer, remote, topic, start_seq AS seq, start_ns AS at_ns, 1 AS delta FROM mesh_spans
UNION ALL SELECT run, peer, remote, topic, end_seq, end_ns, -1 FROM mesh_spans WHERE end_seq IS NOT NULL

-- name: mesh_degree (gold)
SELECT run, topic, peer, second,
       CAST(SUM(delta) OVER (PARTITION BY run, topic, peer ORDER BY second) AS INT) AS degree
FROM (SELECT run, topic, peer, CAST(FLOOR(at_ns / 1e9) AS BIGINT) AS second, SUM(delta) AS delta
      FROM mesh_turns WHERE at_ns IS NOT NULL
      GROUP BY run, topic, peer, CAST(FLOOR(at_ns / 1e9) AS BIGINT)) AS seconds

-- name: mesh_over_time (gold)
SELECT run, topic, second, CAST(SUM(delta) OVER (PARTITION BY run, topic ORDER BY second) AS BIGINT) AS links,
       CAST(SUM(fresh) OVER (PARTITION BY run, topic ORDER BY second) AS BIGINT) AS peers
FROM (SELECT run, topic, second, SUM(delta) AS delta, SUM(fresh) AS fresh
      FROM (SELECT run, topic, CAST(FLOOR(at_ns / 1e9) AS BIGINT) AS second, delta,
                   CASE WHEN 1 = ROW_NUMBER() OVER (
                     PARTITION BY run, topic, peer ORDER BY at_ns, seq, delta, remote) THEN 1 ELSE 0 END AS fresh
            FROM mesh_turns WHERE at_ns IS NOT NULL) AS turns
      GROUP BY run, topic, second) AS seconds

-- name: degree_stats (row)
SELECT d.run, MAX(d.degree) AS highest, MAX(o.at_end) AS at_end
FROM mesh_degree AS d
JOIN (SELECT run, CAST(SUM(links) AS DOUBLE) / SUM(peers) AS at_end
      FROM (SELECT run, links, peers,
                   ROW_NUMBER() OVER (PARTITION BY run, topic ORDER BY second DESC) AS place
            FROM mesh_over_time) AS seconds
      WHERE place = 1 GROUP BY run) AS o ON d.run = o.run
GROUP BY d.run

-- name: mesh_links (view)
-- Both ends of a link on one timeline: `low_held` and `high_held` are 0 or 1 after each turn.
SELECT run, topic, low, high, at_ns,
       SUM(low_delta) OVER (PARTITION BY run, topic, low, high ORDER BY at_ns) AS low_held,
       SUM(high_delta) OVER (PARTITION BY run, topic, low, high ORDER BY at_ns) AS high_held,
       MAX(low_seq) OVER (PARTITION BY run, topic, low, high ORDER BY at_ns) AS low_seq,
       MAX(high_seq) OVER (PARTITION BY run, topic, low, high ORDER BY at_ns) AS high_seq,
       LEAD(at_ns) OVER (PARTITION BY run, topic, low, high ORDER BY at_ns) AS until_ns
FROM (SELECT run, topic, LEAST(peer, remote) AS low, GREATEST(peer, remote) AS high, at_ns,
             SUM(CASE WHEN peer < remote THEN delta ELSE 0 END) AS low_delta,
             SUM(CASE WHEN peer > remote THEN delta ELSE 0 END) AS high_delta,
             MAX(CASE WHEN peer < remote AND delta = 1 THEN seq END) AS low_seq,
             MAX(CASE WHEN peer > remote AND delta = 1 THEN seq END) AS high_seq
      FROM mesh_turns WHERE at_ns IS NOT NULL
      GROUP BY run, topic, LEAST(peer, remote), GREATEST(peer, remote), at_ns) AS turns
WHERE low_delta <> 0 OR high_delta <> 0

-- name: one_sided (gold)
-- A peer whose trace is silent, because it died or had not begun, says nothing of what it held.
SELECT run, topic, CASE WHEN low_held > high_held THEN low ELSE high END AS peer,
       CASE WHEN low_held > high_held THEN high ELSE low END AS remote,
       CASE WHEN low_held > high_held THEN low_seq ELSE high_seq END AS seq,
       at_ns, CAST(ROUND((upto_ns - since_ns) / 1e3) AS BIGINT) AS us
FROM (SELECT l.*, GREATEST(l.at_ns, a.first_ns, b.first_ns) AS since_ns,
             LEAST(l.until_ns, a.last_ns, b.last_ns) AS upto_ns
      FROM mesh_links AS l
      JOIN observers AS a ON l.run = a.run AND l.low = a.peer
      JOIN observers AS b ON l.run = b.run AND l.high = b.peer
      WHERE l.low_held <> l.high_held) AS alone
WHERE upto_ns > since_ns

-- name: mesh_stats (row)
SELECT o.run, COUNT(*) AS one_sided_count, MAX(us) AS one_sided_longest_us,
       COUNT(CASE WHEN us > {mesh_settle_us} THEN 1 END) AS one_sided_long
FROM one_sided AS o GROUP BY o.run

-- name: idontwant_saved (row)
-- A copy is saved where the message came after the IDONTWANT, nothing was sent, and it would have been.
SELECT e.run, COUNT(*) AS saved FROM edges AS e
JOIN delivered AS d ON e.run = d.run AND e.peer = d.peer AND e.message = d.message AND d.rank = 1
JOIN mesh_spans AS m ON e.run = m.run AND e.peer = m.peer AND e.remote = m.remote AND d.topic = m.topic
WHERE e.idontwant_in < d.seq AND e.sent_first IS NULL AND d.remote <> e.remote
  AND m.start_seq < d.seq AND (m.end_seq IS NULL OR m.end_seq > d.seq)
GROUP BY e.run
