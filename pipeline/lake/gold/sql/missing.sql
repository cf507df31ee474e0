-- Messages that never reach a subscriber who stayed, and from whom they should have come.

-- name: stayed (view)
-- Who was subscribed from a while before a publication until a while after it, lost no connection meanwhile,
-- and did not reject the message. Times of several peers are compared, so the while has their skew in it.
SELECT o.run, o.message, o.topic, o.publisher, o.seq, o.at_ns, s.peer, h.peer IS NULL AS lacks
FROM origins AS o
JOIN subscriptions AS s ON o.run = s.run AND o.topic = s.topic AND o.publisher <> s.peer
JOIN observers AS w ON s.run = w.run AND s.peer = w.peer
LEFT JOIN (SELECT DISTINCT run, message, peer FROM holders) AS h
  ON o.run = h.run AND o.message = h.message AND s.peer = h.peer
WHERE o.at_ns - s.since >= {reach_ns} AND w.last_ns - o.at_ns >= {reach_ns}
  AND (s.until IS NULL OR s.until - o.at_ns >= {reach_ns})
  AND NOT EXISTS (SELECT 1 FROM told AS c WHERE c.type = 5 AND c.run = s.run AND c.peer = s.peer
    AND c.at_ns > o.at_ns - {reach_ns} AND c.at_ns < o.at_ns + {reach_ns})
  AND NOT EXISTS (SELECT 1 FROM told AS r WHERE r.type = 1 AND r.run = s.run AND r.peer = s.peer
    AND r.message = o.message)

-- name: run_missing (row)
SELECT run, COUNT(*) AS stayed, COUNT(CASE WHEN lacks THEN 1 END) AS lacking FROM stayed GROUP BY run

-- name: lacking (kept)
SELECT run, message, topic, publisher, seq, at_ns, peer FROM stayed WHERE lacks

-- name: due (view)
-- Mesh peers of who lacks a message: they had the link and the message, in the order of their own events.
SELECT l.run, l.message, l.peer, m.peer AS remote
FROM lacking AS l
JOIN mesh_spans AS m ON l.run = m.run AND l.peer = m.remote AND l.topic = m.topic
JOIN (SELECT run, peer, message, seq FROM delivered WHERE rank = 1
      UNION ALL SELECT run, publisher, message, seq FROM origins) AS h
  ON m.run = h.run AND m.peer = h.peer AND l.message = h.message
WHERE m.start_seq < h.seq AND (m.end_seq IS NULL OR m.end_seq > h.seq)
GROUP BY l.run, l.message, l.peer, m.peer

-- name: missing (gold)
SELECT l.run, l.message, l.topic, l.publisher, l.seq, l.at_ns, l.peer, d.remote
FROM lacking AS l LEFT JOIN due AS d ON l.run = d.run AND l.message = d.message AND l.peer = d.peer
