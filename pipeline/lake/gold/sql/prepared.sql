-- What the claims are asked of. Most begin with `suspects`, the few rows of `edges` that may hide a violation, so
-- that only their events are looked at.

-- name: sourced (view)
-- Deliveries of messages of which nothing came from a peer without a trace: it may have published them before.
-- A publisher whose trace had not begun may have, too.
SELECT a.run, a.peer, a.seq, a.at_ns, a.remote, a.topic, a.message, a.origin_ns
FROM arrivals AS a JOIN observers AS p ON a.run = p.run AND a.publisher = p.peer
WHERE a.rank = 1 AND a.at_ns >= p.first_ns AND a.origin_ns IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM arrivals AS b LEFT JOIN observers AS w ON b.run = w.run AND b.remote = w.peer
  WHERE w.peer IS NULL AND b.run = a.run AND b.message = a.message)

-- name: suspects (kept)
SELECT run, peer, remote, message, sent_first, came, recv_first, idontwant_in, ihave_in, iwant_in
FROM edges
WHERE sent > 1 OR sent_last > came OR sent_last > idontwant_in
  OR (iwant_out IS NOT NULL AND (ihave_in IS NULL OR ihave_in > iwant_out))
  OR (have_tx_out IS NOT NULL AND (recv_first IS NULL OR recv_first > have_tx_out))

-- name: suspect_events (kept)
SELECT e.run, e.peer, e.seq, e.at_ns, e.type, e.kind, e.remote, e.topic, e.message,
       s.sent_first, s.came, s.recv_first, s.idontwant_in, s.ihave_in, s.iwant_in
FROM events AS e JOIN suspects AS s
  ON e.run = s.run AND e.peer = s.peer AND e.remote = s.remote AND e.message = s.message
WHERE (e.type = 7 AND e.kind IN (1, 3, 9, 11)) OR (e.type = 6 AND e.kind = 4)

-- name: unasked (view)
-- Copies that nobody had asked for: an answer to IWANT is bound by other rules.
SELECT * FROM suspect_events WHERE type = 7 AND kind IN (1, 11) AND (iwant_in IS NULL OR iwant_in > seq)

-- name: meshed (view)
-- Where GRAFT and PRUNE are seen, the mesh is known; elsewhere it is not asked for.
SELECT DISTINCT run, peer FROM mesh_spans

-- name: grafts (view)
-- A backoff of more than a million seconds is cut to that: a peer may say any number.
SELECT run, peer, seq, at_ns, remote, topic, until_ns, cause
FROM (SELECT run, peer, seq, item, at_ns, remote, topic, type, kind,
        MAX(CASE WHEN kind = 6 AND COALESCE(value, {prune_backoff_s}) IS NOT NULL
                 THEN at_ns + CAST(LEAST(COALESCE(value, {prune_backoff_s}), 1e6) * 1e9 AS BIGINT) END)
          OVER (PARTITION BY run, peer, remote, topic ORDER BY seq, item ROWS UNBOUNDED PRECEDING) AS until_ns,
        MAX(CASE WHEN kind = 6 THEN seq END)
          OVER (PARTITION BY run, peer, remote, topic ORDER BY seq, item ROWS UNBOUNDED PRECEDING) AS cause
      FROM told WHERE type IN (6, 7) AND kind IN (5, 6)) AS turns
WHERE type = 7 AND kind = 5 AND until_ns IS NOT NULL

-- name: unheard (view)
-- Links of which one end sent more GRAFTs or PRUNEs than the other received: what was lost is never processed, and
-- the ends cannot agree.
SELECT DISTINCT run, topic, LEAST(sender, receiver) AS low, GREATEST(sender, receiver) AS high
FROM (SELECT run, topic, kind, CASE WHEN type = 7 THEN peer ELSE remote END AS sender,
             CASE WHEN type = 7 THEN remote ELSE peer END AS receiver, CASE WHEN type = 7 THEN 1 ELSE -1 END AS lost
      FROM told WHERE type IN (6, 7) AND kind IN (5, 6) AND topic IS NOT NULL) AS controls
GROUP BY run, topic, kind, sender, receiver HAVING SUM(lost) > 0

-- name: resets (view)
SELECT run, peer, seq, at_ns, remote,
       LAG(seq) OVER (PARTITION BY run, peer ORDER BY seq, item) AS before_seq,
       LAG(at_ns) OVER (PARTITION BY run, peer ORDER BY seq, item) AS before_ns
FROM told WHERE type = 7 AND kind = 10

-- name: routes_enabled (view)
SELECT run, peer, seq, at_ns, remote, source, enabled, asked
FROM (SELECT run, peer, seq, at_ns, remote, source, type,
        SUM(CASE WHEN type = 106 THEN 1 ELSE 0 END)
          OVER (PARTITION BY run, peer, remote ORDER BY seq, item ROWS UNBOUNDED PRECEDING) AS enabled,
        SUM(CASE WHEN type = 6 THEN 1 ELSE 0 END)
          OVER (PARTITION BY run, peer, remote ORDER BY seq, item ROWS UNBOUNDED PRECEDING) AS asked
      FROM told AS t
      WHERE (type = 6 AND kind = 10) OR (type = 106 AND NOT EXISTS (
        SELECT 1 FROM away AS a WHERE a.run = t.run AND a.peer = t.peer AND a.start_seq < t.seq
          AND (a.end_seq IS NULL OR a.end_seq > t.seq) AND (a.remote = t.remote OR a.remote = t.source)))) AS turns
WHERE type = 106
