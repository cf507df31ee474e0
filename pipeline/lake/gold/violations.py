"""The queries that find violations, in SQL that Spark and DuckDB both read.

Each gives one row for each violation: run, peer, seq (of the event that should not be), at_ns, remote, topic,
message, cause (the seq of the event that forbids it, of the same peer) and us (a duration, where there is
one). Most begin with `suspects`, the few rows of `edges` that may hide one, so that only their events are
looked at.
"""

from __future__ import annotations

from quidnunc.pipeline.lake.gold.query import GoldQuery

COLUMNS = ("run", "peer", "seq", "at_ns", "remote", "topic", "message", "cause", "us")

SUSPECTS = (
    GoldQuery(
        "suspects",
        "kept",
        """
SELECT run, peer, remote, message, sent_first, delivered, recv_first, idontwant_in, ihave_in, iwant_in
FROM edges
WHERE sent > 1 OR sent_last > delivered OR sent_last > idontwant_in
  OR (iwant_out IS NOT NULL AND (ihave_in IS NULL OR ihave_in > iwant_out))
  OR (have_tx_out IS NOT NULL AND (recv_first IS NULL OR recv_first > have_tx_out))""",
    ),
    GoldQuery(
        "suspect_events",
        "kept",
        """
SELECT e.run, e.peer, e.seq, e.at_ns, e.type, e.kind, e.remote, e.topic, e.message,
       s.sent_first, s.delivered, s.recv_first, s.idontwant_in, s.ihave_in, s.iwant_in
FROM events AS e JOIN suspects AS s
  ON e.run = s.run AND e.peer = s.peer AND e.remote = s.remote AND e.message = s.message
WHERE (e.type = 7 AND e.kind IN (1, 3, 9, 11)) OR (e.type = 6 AND e.kind = 4)""",
    ),
    # Copies that nobody had asked for: an answer to IWANT is bound by other rules.
    GoldQuery(
        "unasked",
        "view",
        """
SELECT * FROM suspect_events WHERE type = 7 AND kind IN (1, 11) AND (iwant_in IS NULL OR iwant_in > seq)""",
    ),
    # Where GRAFT and PRUNE are seen, the mesh is known; elsewhere it is not asked for.
    GoldQuery("meshed", "view", "SELECT DISTINCT run, peer FROM mesh_spans"),
)

NOT_BACK = """
SELECT run, peer, seq, at_ns, remote, topic, message, delivered AS cause, CAST(NULL AS BIGINT) AS us
FROM unasked WHERE kind = 1 AND seq > delivered"""

RELAY_ONCE = """
SELECT run, peer, seq, at_ns, remote, topic, message, before_seq AS cause, CAST(NULL AS BIGINT) AS us
FROM (SELECT *, LAG(seq) OVER (PARTITION BY run, peer, remote, message ORDER BY seq) AS before_seq,
             LAG(at_ns) OVER (PARTITION BY run, peer, remote, message ORDER BY seq) AS before_ns
      FROM unasked WHERE kind = 1) AS copies
WHERE before_seq IS NOT NULL AND (at_ns IS NULL OR before_ns IS NULL OR at_ns - before_ns < {seen_ttl_ns})"""

SEND_ONCE = """
SELECT c.run, c.peer, c.seq, c.at_ns, c.remote, c.topic, c.message, c.before_seq AS cause, CAST(NULL AS
  BIGINT) AS us
FROM (SELECT *, LAG(seq) OVER (PARTITION BY run, peer, remote, message ORDER BY seq) AS before_seq
      FROM unasked WHERE kind = 11) AS c
WHERE c.before_seq IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM away AS a WHERE a.run = c.run AND a.peer = c.peer AND a.remote = c.remote
    AND a.start_seq > c.before_seq AND a.start_seq < c.seq)"""

DELIVER_ONCE = """
SELECT run, peer, seq, at_ns, remote, topic, message, before_seq AS cause, CAST(NULL AS BIGINT) AS us
FROM delivered
WHERE rank > 1 AND (at_ns IS NULL OR before_ns IS NULL OR at_ns - before_ns < {seen_ttl_ns})"""

IDONTWANT = """
SELECT s.run, s.peer, s.seq, s.at_ns, s.remote, s.topic, s.message, s.cause,
       CAST(ROUND((s.at_ns - s.cause_ns) / 1e3) AS BIGINT) AS us
FROM (SELECT s.run, s.peer, s.seq, s.at_ns, s.remote, s.topic, s.message, MAX(i.seq) AS cause, MAX(i.at_ns)
  AS cause_ns
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
    AND h.seq > s.cause AND h.seq < s.seq)"""

IHAVE_REQUESTED = """
SELECT run, peer, seq, at_ns, remote, topic, message, CAST(NULL AS BIGINT) AS cause, CAST(NULL AS BIGINT) AS
  us
FROM suspect_events WHERE type = 7 AND kind = 3 AND (ihave_in IS NULL OR ihave_in > seq)"""

HAVETX_REPLY = """
SELECT run, peer, seq, at_ns, remote, topic, message, CAST(NULL AS BIGINT) AS cause, CAST(NULL AS BIGINT) AS
  us
FROM suspect_events WHERE type = 7 AND kind = 9 AND (recv_first IS NULL OR recv_first > seq)"""

# A backoff of more than a million seconds is cut to that: a peer may say any number.
GRAFTS = GoldQuery(
    "grafts",
    "view",
    """
SELECT run, peer, seq, at_ns, remote, topic, until_ns, cause
FROM (SELECT run, peer, seq, item, at_ns, remote, topic, type, kind,
        MAX(CASE WHEN kind = 6 AND COALESCE(value, {prune_backoff_s}) IS NOT NULL
                 THEN at_ns + CAST(LEAST(COALESCE(value, {prune_backoff_s}), 1e6) * 1e9 AS BIGINT) END)
          OVER (PARTITION BY run, peer, remote, topic ORDER BY seq, item ROWS UNBOUNDED PRECEDING) AS
            until_ns,
        MAX(CASE WHEN kind = 6 THEN seq END)
          OVER (PARTITION BY run, peer, remote, topic ORDER BY seq, item ROWS UNBOUNDED PRECEDING) AS cause
      FROM told WHERE type IN (6, 7) AND kind IN (5, 6)) AS turns
WHERE type = 7 AND kind = 5 AND until_ns IS NOT NULL""",
)

BACKOFF = """
SELECT run, peer, seq, at_ns, remote, topic, CAST(NULL AS INT) AS message, cause,
       CAST(ROUND((until_ns - at_ns) / 1e3) AS BIGINT) AS us
FROM grafts WHERE at_ns < until_ns"""

MUTUAL = """
SELECT run, peer, seq, at_ns, remote, topic, CAST(NULL AS INT) AS message, CAST(NULL AS BIGINT) AS cause, us
FROM one_sided WHERE us > {mesh_settle_us}"""

RESETS = GoldQuery(
    "resets",
    "view",
    """
SELECT run, peer, seq, at_ns, remote,
       LAG(seq) OVER (PARTITION BY run, peer ORDER BY seq, item) AS before_seq,
       LAG(at_ns) OVER (PARTITION BY run, peer ORDER BY seq, item) AS before_ns
FROM told WHERE type = 7 AND kind = 10""",
)

RESET_TOO_MANY = """
SELECT r.run, r.peer, r.seq, r.at_ns, r.remote, CAST(NULL AS INT) AS topic, CAST(NULL AS INT) AS message,
       r.before_seq AS cause, CAST(ROUND((r.at_ns - r.before_ns) / 1e3) AS BIGINT) AS us
FROM resets AS r
WHERE r.at_ns - r.before_ns < {adjust_interval_ns} AND NOT EXISTS (
  SELECT 1 FROM away AS a WHERE a.run = r.run AND a.peer = r.peer
    AND a.start_seq > r.before_seq AND a.start_seq < r.seq)"""

ROUTES = GoldQuery(
    "routes_enabled",
    "view",
    """
SELECT run, peer, seq, at_ns, remote, source, enabled, asked
FROM (SELECT run, peer, seq, at_ns, remote, source, type,
        SUM(CASE WHEN type = 106 THEN 1 ELSE 0 END)
          OVER (PARTITION BY run, peer, remote ORDER BY seq, item ROWS UNBOUNDED PRECEDING) AS enabled,
        SUM(CASE WHEN type = 6 THEN 1 ELSE 0 END)
          OVER (PARTITION BY run, peer, remote ORDER BY seq, item ROWS UNBOUNDED PRECEDING) AS asked
      FROM told AS t
      WHERE (type = 6 AND kind = 10) OR (type = 106 AND NOT EXISTS (
        SELECT 1 FROM away AS a WHERE a.run = t.run AND a.peer = t.peer AND a.start_seq < t.seq
          AND (a.end_seq IS NULL OR a.end_seq > t.seq) AND (a.remote = t.remote OR a.remote = t.source))))
            AS turns
WHERE type = 106""",
)

RESET_ONE = """
SELECT run, peer, seq, at_ns, remote, CAST(NULL AS INT) AS topic, CAST(NULL AS INT) AS message,
       CAST(NULL AS BIGINT) AS cause, CAST(NULL AS BIGINT) AS us
FROM routes_enabled WHERE enabled > asked"""

PREPARED: tuple[GoldQuery, ...] = (*SUSPECTS, GRAFTS, RESETS, ROUTES)
