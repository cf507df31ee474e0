-- Of each claim of `claims.py`, how often it applied in a run, and its violations.
--
-- `applied` gives run and applied. `violations` gives a row for each: run, peer, seq (of the event that should
-- not be), at_ns, remote, topic, message, cause (the seq of the event that forbids it, of the same peer) and us (a
-- duration, where there is one).

-- name: deliver.once (applied)
SELECT run, COUNT(*) AS applied FROM delivered WHERE rank = 1 GROUP BY run

-- name: deliver.once (violations)
SELECT run, peer, seq, at_ns, remote, topic, message, before_seq AS cause, CAST(NULL AS BIGINT) AS us
FROM delivered
WHERE rank > 1 AND (at_ns IS NULL OR before_ns IS NULL OR at_ns - before_ns < {seen_ttl_ns})

-- name: deliver.published-first (applied)
SELECT run, COUNT(*) AS applied FROM sourced GROUP BY run

-- name: deliver.published-first (violations)
SELECT run, peer, seq, at_ns, remote, topic, message, CAST(NULL AS BIGINT) AS cause,
       CAST(ROUND((origin_ns - at_ns) / 1e3) AS BIGINT) AS us
FROM sourced WHERE origin_ns - at_ns > {skew_ns}

-- name: deliver.to-all (applied)
SELECT run, COUNT(*) AS applied FROM stayed GROUP BY run

-- name: deliver.to-all (violations)
-- The event is the publication; `missing` has every mesh peer that should have sent the message.
SELECT run, peer, seq, at_ns, MIN(remote) AS remote, topic, message, CAST(NULL AS BIGINT) AS cause,
       CAST(NULL AS BIGINT) AS us
FROM missing GROUP BY run, peer, seq, at_ns, topic, message

-- name: relay.not-back (applied)
SELECT run, CAST(COUNT(delivered) AS BIGINT) AS applied FROM edges GROUP BY run

-- name: relay.not-back (violations)
SELECT run, peer, seq, at_ns, remote, topic, message, came AS cause, CAST(NULL AS BIGINT) AS us
FROM unasked WHERE kind = 1 AND seq > came

-- name: relay.once (applied)
SELECT run, CAST(COUNT(sent_first) AS BIGINT) AS applied FROM edges GROUP BY run

-- name: relay.once (violations)
SELECT run, peer, seq, at_ns, remote, topic, message, before_seq AS cause, CAST(NULL AS BIGINT) AS us
FROM (SELECT *, LAG(seq) OVER (PARTITION BY run, peer, remote, message ORDER BY seq) AS before_seq,
             LAG(at_ns) OVER (PARTITION BY run, peer, remote, message ORDER BY seq) AS before_ns
      FROM unasked WHERE kind = 1) AS copies
WHERE before_seq IS NOT NULL AND (at_ns IS NULL OR before_ns IS NULL OR at_ns - before_ns < {seen_ttl_ns})

-- name: idontwant.honoured (applied)
SELECT run, CAST(COUNT(idontwant_in) AS BIGINT) AS applied FROM edges GROUP BY run

-- name: idontwant.honoured (violations)
SELECT s.run, s.peer, s.seq, s.at_ns, s.remote, s.topic, s.message, s.cause,
       CAST(ROUND((s.at_ns - s.cause_ns) / 1e3) AS BIGINT) AS us
FROM (SELECT s.run, s.peer, s.seq, s.at_ns, s.remote, s.topic, s.message, MAX(i.seq) AS cause,
             MAX(i.at_ns) AS cause_ns
      FROM unasked AS s JOIN suspect_events AS i
        ON s.run = i.run AND s.peer = i.peer AND s.remote = i.remote AND s.message = i.message
      WHERE s.kind = 1 AND i.type = 6 AND i.kind = 4 AND i.seq < s.seq
        AND s.at_ns - i.at_ns <= {idontwant_window_ns}
      GROUP BY s.run, s.peer, s.seq, s.at_ns, s.remote, s.topic, s.message) AS s
LEFT JOIN meshed AS k ON s.run = k.run AND s.peer = k.peer
LEFT JOIN mesh_spans AS m ON s.run = m.run AND s.peer = m.peer AND s.remote = m.remote AND s.topic = m.topic
  AND m.start_seq < s.seq AND (m.end_seq IS NULL OR m.end_seq > s.seq)
WHERE (k.peer IS NULL OR s.topic IS NULL OR m.peer IS NOT NULL) AND NOT EXISTS (
  SELECT 1 FROM told AS h WHERE h.type = 101 AND h.run = s.run AND h.peer = s.peer
    AND h.seq > s.cause AND h.seq < s.seq)

-- name: ihave.requested (applied)
SELECT run, CAST(COUNT(iwant_out) AS BIGINT) AS applied FROM edges GROUP BY run

-- name: ihave.requested (violations)
SELECT run, peer, seq, at_ns, remote, topic, message, CAST(NULL AS BIGINT) AS cause,
       CAST(NULL AS BIGINT) AS us
FROM suspect_events WHERE type = 7 AND kind = 3 AND (ihave_in IS NULL OR ihave_in > seq)

-- name: backoff.no-graft (applied)
SELECT run, COUNT(*) AS applied FROM grafts GROUP BY run

-- name: backoff.no-graft (violations)
SELECT run, peer, seq, at_ns, remote, topic, CAST(NULL AS INT) AS message, cause,
       CAST(ROUND((until_ns - at_ns) / 1e3) AS BIGINT) AS us
FROM grafts WHERE at_ns < until_ns

-- name: mesh.mutual (applied)
SELECT s.run, COUNT(*) AS applied FROM mesh_spans AS s
LEFT JOIN unheard AS u ON s.run = u.run AND s.topic = u.topic
  AND u.low = LEAST(s.peer, s.remote) AND u.high = GREATEST(s.peer, s.remote)
WHERE u.run IS NULL GROUP BY s.run

-- name: mesh.mutual (violations)
SELECT o.run, o.peer, o.seq, o.at_ns, o.remote, o.topic, CAST(NULL AS INT) AS message,
       CAST(NULL AS BIGINT) AS cause, o.us
FROM one_sided AS o
LEFT JOIN unheard AS u ON o.run = u.run AND o.topic = u.topic
  AND u.low = LEAST(o.peer, o.remote) AND u.high = GREATEST(o.peer, o.remote)
WHERE u.run IS NULL AND o.us > {mesh_settle_us}

-- name: send.once-to-others (applied)
SELECT run, CAST(SUM(with_message) AS BIGINT) AS applied
FROM peer_counts WHERE type = 7 AND kind = 11 GROUP BY run

-- name: send.once-to-others (violations)
SELECT c.run, c.peer, c.seq, c.at_ns, c.remote, c.topic, c.message, c.before_seq AS cause,
       CAST(NULL AS BIGINT) AS us
FROM (SELECT *, LAG(seq) OVER (PARTITION BY run, peer, remote, message ORDER BY seq) AS before_seq
      FROM unasked WHERE kind = 11) AS c
WHERE c.before_seq IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM away AS a WHERE a.run = c.run AND a.peer = c.peer AND a.remote = c.remote
    AND a.start_seq > c.before_seq AND a.start_seq < c.seq)

-- name: havetx.reply (applied)
SELECT run, CAST(COUNT(have_tx_out) AS BIGINT) AS applied FROM edges GROUP BY run

-- name: havetx.reply (violations)
SELECT run, peer, seq, at_ns, remote, topic, message, CAST(NULL AS BIGINT) AS cause,
       CAST(NULL AS BIGINT) AS us
FROM suspect_events WHERE type = 7 AND kind = 9 AND (recv_first IS NULL OR recv_first > seq)

-- name: controller.resets-when-low (applied)
SELECT run, COUNT(*) AS applied FROM resets GROUP BY run

-- name: controller.resets-when-low (violations)
SELECT r.run, r.peer, r.seq, r.at_ns, r.remote, CAST(NULL AS INT) AS topic, CAST(NULL AS INT) AS message,
       r.before_seq AS cause, CAST(ROUND((r.at_ns - r.before_ns) / 1e3) AS BIGINT) AS us
FROM resets AS r
WHERE r.at_ns - r.before_ns < {adjust_interval_ns} AND NOT EXISTS (
  SELECT 1 FROM away AS a WHERE a.run = r.run AND a.peer = r.peer
    AND a.start_seq > r.before_seq AND a.start_seq < r.seq)

-- name: reset.one (applied)
SELECT run, COUNT(*) AS applied FROM routes_enabled GROUP BY run

-- name: reset.one (violations)
SELECT run, peer, seq, at_ns, remote, CAST(NULL AS INT) AS topic, CAST(NULL AS INT) AS message,
       CAST(NULL AS BIGINT) AS cause, CAST(NULL AS BIGINT) AS us
FROM routes_enabled WHERE enabled > asked
