"""The queries from silver to gold, each a view over those before it, in SQL that Spark and DuckDB both read.

`events` is silver. Order is that of `seq`, and of one peer alone; `at_ns` is used for durations on one clock,
and across peers where the metric or claim says so. Sums are cast because engines widen them differently;
times are kept as differences because sums of nanoseconds overflow.
"""

from __future__ import annotations

from quidnunc.pipeline.lake.gold.mesh_queries import MESH, ROUTES
from quidnunc.pipeline.lake.gold.query import GoldQuery

BASE = (
    # All but RPCs, and of those the entries on meshes and routes: little, and read by most.
    GoldQuery(
        "told",
        "kept",
        "SELECT * FROM events WHERE type NOT IN (2, 6, 7, 8) OR kind IN (5, 6, 10)",
    ),
    GoldQuery(
        "peer_counts",
        "kept",
        """
SELECT run, peer, type, kind, COUNT(*) AS row_count, COUNT(message) AS with_message,
       CAST(SUM(CASE WHEN item = 0 THEN 1 ELSE 0 END) AS BIGINT) AS event_count,
       COUNT(wire) AS sized, CAST(SUM(wire) AS BIGINT) AS wire, MIN(at_ns) AS first_ns, MAX(at_ns) AS last_ns
FROM events GROUP BY run, peer, type, kind""",
    ),
    GoldQuery(
        "kind_counts",
        "row",
        """
SELECT run, type, kind, CAST(SUM(row_count) AS BIGINT) AS row_count,
       CAST(SUM(with_message) AS BIGINT) AS with_message, CAST(SUM(event_count) AS BIGINT) AS event_count,
       CAST(SUM(sized) AS BIGINT) AS sized, CAST(SUM(wire) AS BIGINT) AS wire
FROM peer_counts GROUP BY run, type, kind""",
    ),
    GoldQuery(
        "observers",
        "view",
        """
SELECT run, peer, MIN(first_ns) AS first_ns, MAX(last_ns) AS last_ns
FROM peer_counts WHERE peer IS NOT NULL AND type <> 100 GROUP BY run, peer""",
    ),
    GoldQuery(
        "run_spans",
        "row",
        """
SELECT s.run, s.first_ns, s.last_ns, COALESCE(o.peers, 0) AS observers
FROM (SELECT run, MIN(first_ns) AS first_ns, MAX(last_ns) AS last_ns FROM peer_counts WHERE type <> 100
  GROUP BY run)
  AS s
LEFT JOIN (SELECT run, COUNT(*) AS peers FROM observers GROUP BY run) AS o ON s.run = o.run""",
    ),
    GoldQuery(
        "backoff_values",
        "row",
        "SELECT run, COUNT(value) AS said FROM told WHERE type IN (6, 7) AND kind = 6 GROUP BY run",
    ),
    GoldQuery("run_events", "row", "SELECT run, seq, more FROM told WHERE type = 100"),
    # While a peer is away: from a stream's end to the next one's beginning.
    GoldQuery(
        "away",
        "view",
        """
SELECT run, peer, remote, seq AS start_seq, end_seq
FROM (SELECT run, peer, remote, seq, type,
             LEAD(seq) OVER (PARTITION BY run, peer, remote ORDER BY seq) AS end_seq
      FROM told WHERE type IN (4, 5) AND remote IS NOT NULL) AS streams
WHERE type = 5""",
    ),
)
MESSAGES = (
    # The first publication in time; `seq` is of the order of files. A delivery of a peer to itself stands for
    # a publication where there is none; its time does not.
    GoldQuery(
        "origins",
        "kept",
        """
SELECT run, message, peer AS publisher, topic, seq,
       CASE WHEN type = 0 THEN at_ns END AS at_ns,
       CASE WHEN type = 0 THEN COALESCE(at_ns, seq) END AS t
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY run, message ORDER BY type, COALESCE(at_ns, seq), seq) AS
        rank FROM told
      WHERE message IS NOT NULL AND (type = 0 OR (type = 3 AND remote = peer))) AS own
WHERE rank = 1""",
    ),
    GoldQuery(
        "delivered",
        "kept",
        """
SELECT run, peer, message, topic, remote, seq, at_ns,
       CAST(ROW_NUMBER() OVER (PARTITION BY run, peer, message ORDER BY seq) AS INT) AS rank,
       LAG(at_ns) OVER (PARTITION BY run, peer, message ORDER BY seq) AS before_ns,
       LAG(seq) OVER (PARTITION BY run, peer, message ORDER BY seq) AS before_seq
FROM told WHERE type = 3 AND message IS NOT NULL AND peer IS NOT NULL""",
    ),
    GoldQuery(
        "arrivals",
        "kept",
        """
SELECT d.run, d.peer, d.message, COALESCE(d.topic, o.topic) AS topic, d.remote, d.seq, d.at_ns, d.rank,
       o.publisher, o.at_ns AS origin_ns, o.t AS origin_t
FROM delivered AS d LEFT JOIN origins AS o ON d.run = o.run AND d.message = o.message
WHERE (d.remote IS NULL OR d.remote <> d.peer) AND (o.publisher IS NULL OR o.publisher <> d.peer)""",
    ),
    GoldQuery(
        "published_runs",
        "view",
        "SELECT run, COUNT(at_ns) > 0 AS published FROM origins GROUP BY run",
    ),
    GoldQuery(
        "latencies",
        "kept",
        """
SELECT a.run, a.message, a.peer, a.at_ns - CASE WHEN r.published THEN a.origin_ns ELSE f.first_ns END AS ns
FROM arrivals AS a
JOIN (SELECT run, message, MIN(at_ns) AS first_ns FROM arrivals WHERE rank = 1 GROUP BY run, message) AS f
  ON a.run = f.run AND a.message = f.message
LEFT JOIN published_runs AS r ON a.run = r.run
WHERE a.rank = 1""",
    ),
    GoldQuery(
        "latency_counts",
        "view",
        """
SELECT run, CAST(ROUND(ns / 1e3) AS BIGINT) AS us, COUNT(*) AS n FROM latencies
WHERE ns IS NOT NULL GROUP BY run, CAST(ROUND(ns / 1e3) AS BIGINT)""",
    ),
    GoldQuery(
        "run_latency",
        "row",
        """
SELECT run, MIN(CASE WHEN upto * 100 >= total * 50 THEN us END) AS p50_us,
       MIN(CASE WHEN upto * 100 >= total * 95 THEN us END) AS p95_us,
       MIN(CASE WHEN upto * 100 >= total * 99 THEN us END) AS p99_us, MAX(us) AS max_us
FROM (SELECT run, us, SUM(n) OVER (PARTITION BY run ORDER BY us) AS upto, SUM(n) OVER (PARTITION BY run) AS
  total
      FROM latency_counts) AS ranked
GROUP BY run""",
    ),
    GoldQuery(
        "message_stats",
        "gold",
        """
SELECT m.run, m.message, o.publisher, o.topic, o.at_ns AS published_ns, COALESCE(l.deliveries, 0) AS
  deliveries,
       l.first_us, l.last_us
FROM (SELECT DISTINCT run, message FROM told WHERE type IN (0, 3) AND message IS NOT NULL) AS m
LEFT JOIN origins AS o ON m.run = o.run AND m.message = o.message
LEFT JOIN (SELECT run, message, COUNT(*) AS deliveries, CAST(ROUND(MIN(ns) / 1e3) AS BIGINT) AS first_us,
                  CAST(ROUND(MAX(ns) / 1e3) AS BIGINT) AS last_us
           FROM latencies GROUP BY run, message) AS l
  ON m.run = l.run AND m.message = l.message""",
    ),
)
REPEATS = (
    GoldQuery(
        "run_messages",
        "row",
        """
SELECT m.run, m.messages, m.deliveries, COALESCE(r.repeats, 0) AS repeats, COALESCE(p.published, FALSE) AS
  published
FROM (SELECT run, COUNT(*) AS messages, CAST(SUM(deliveries) AS BIGINT) AS deliveries FROM message_stats
  GROUP BY run)
  AS m
LEFT JOIN (SELECT run, COUNT(*) AS repeats FROM arrivals WHERE rank > 1 GROUP BY run) AS r ON m.run = r.run
LEFT JOIN published_runs AS p ON m.run = p.run""",
    ),
)
SUBSCRIBERS = (
    GoldQuery(
        "joins",
        "kept",
        """
SELECT run, peer, topic, t, CASE WHEN type = 9 THEN 1 ELSE -1 END AS delta
FROM (SELECT run, peer, topic, type, COALESCE(at_ns, seq) AS t,
             LAG(type) OVER (PARTITION BY run, peer, topic ORDER BY seq) AS before
      FROM told WHERE type IN (9, 10) AND topic IS NOT NULL AND peer IS NOT NULL) AS told
WHERE (type = 9 AND (before IS NULL OR before = 10)) OR (type = 10 AND before = 9)""",
    ),
    GoldQuery(
        "subscriptions",
        "view",
        """
SELECT run, peer, topic, t AS since, until
FROM (SELECT run, peer, topic, t, delta, LEAD(t) OVER (PARTITION BY run, peer, topic ORDER BY t, delta) AS
  until
      FROM joins) AS spans
WHERE delta = 1""",
    ),
    # Whose subscribers are known: all that were published when somebody had joined anything.
    GoldQuery(
        "counted",
        "view",
        """
SELECT o.run, o.message, o.publisher, o.topic, o.t
FROM origins AS o JOIN (SELECT run, MIN(t) AS t FROM joins GROUP BY run) AS j ON o.run = j.run AND j.t <= o.t
WHERE o.topic IS NOT NULL""",
    ),
    GoldQuery(
        "expected",
        "view",
        """
SELECT run, CAST(SUM(members) AS BIGINT) AS expected FROM (
  SELECT run, message, SUM(delta) OVER (PARTITION BY run, topic ORDER BY t, place ROWS UNBOUNDED PRECEDING)
    AS members
  FROM (SELECT run, topic, t, 0 AS place, delta, CAST(NULL AS INT) AS message FROM joins
        UNION ALL SELECT run, topic, t, 1, 0, message FROM counted) AS timeline) AS running
WHERE message IS NOT NULL GROUP BY run""",
    ),
    GoldQuery(
        "publishers_in",
        "view",
        """
SELECT c.run, COUNT(*) AS own FROM counted AS c
JOIN subscriptions AS s ON c.run = s.run AND c.publisher = s.peer AND c.topic = s.topic
WHERE s.since <= c.t AND (s.until IS NULL OR s.until > c.t) GROUP BY c.run""",
    ),
    # Who published what somebody else had published before has it as well.
    GoldQuery(
        "holders",
        "view",
        """
SELECT run, message, peer FROM arrivals WHERE rank = 1
UNION SELECT t.run, t.message, t.peer
FROM told AS t JOIN origins AS o ON t.run = o.run AND t.message = o.message
WHERE t.peer <> o.publisher AND (t.type = 0 OR (t.type = 3 AND t.remote = t.peer))""",
    ),
    GoldQuery(
        "reached",
        "view",
        """
SELECT a.run, COUNT(*) AS reached FROM holders AS a
JOIN counted AS c ON a.run = c.run AND a.message = c.message
JOIN subscriptions AS s ON a.run = s.run AND a.peer = s.peer AND c.topic = s.topic
WHERE s.since <= c.t AND (s.until IS NULL OR s.until > c.t) GROUP BY a.run""",
    ),
    GoldQuery(
        "run_delivery",
        "row",
        """
SELECT e.run, e.expected - COALESCE(p.own, 0) AS expected, COALESCE(r.reached, 0) AS reached
FROM expected AS e LEFT JOIN publishers_in AS p ON e.run = p.run LEFT JOIN reached AS r ON e.run = r.run""",
    ),
)
EDGES = (
    # What passed between a peer and one neighbour of one message: most claims are a look at one row of this.
    GoldQuery(
        "edges",
        "kept",
        """
SELECT run, peer, remote, message,
       COUNT(CASE WHEN type = 7 AND kind IN (1, 11) THEN 1 END) AS sent,
       MIN(CASE WHEN type = 7 AND kind IN (1, 11) THEN seq END) AS sent_first,
       MAX(CASE WHEN type = 7 AND kind IN (1, 11) THEN seq END) AS sent_last,
       MIN(CASE WHEN type = 6 AND kind IN (1, 11) THEN seq END) AS recv_first,
       MAX(CASE WHEN type = 6 AND kind IN (1, 11) THEN seq END) AS recv_last,
       MIN(CASE WHEN type = 3 THEN seq END) AS delivered,
       MIN(CASE WHEN type = 6 AND kind = 4 THEN seq END) AS idontwant_in,
       MIN(CASE WHEN type = 7 AND kind = 4 THEN seq END) AS idontwant_out,
       MIN(CASE WHEN type = 6 AND kind = 2 THEN seq END) AS ihave_in,
       MIN(CASE WHEN type = 6 AND kind = 3 THEN seq END) AS iwant_in,
       MIN(CASE WHEN type = 7 AND kind = 3 THEN seq END) AS iwant_out,
       MIN(CASE WHEN type = 7 AND kind = 9 THEN seq END) AS have_tx_out
FROM events
WHERE message IS NOT NULL AND remote IS NOT NULL AND peer IS NOT NULL
  AND ((type = 3 AND remote <> peer) OR (type IN (6, 7) AND kind IN (1, 2, 3, 4, 9, 11)))
GROUP BY run, peer, remote, message""",
    ),
    GoldQuery(
        "control_stats",
        "row",
        """
SELECT run, COUNT(idontwant_out) AS idontwant_pairs_out, COUNT(idontwant_in) AS idontwant_pairs_in,
       COUNT(CASE WHEN idontwant_in IS NOT NULL AND (sent_last IS NULL OR sent_last < idontwant_in) THEN 1
         END)
         AS idontwant_honoured,
       COUNT(ihave_in) AS ihave_pairs_in, COUNT(iwant_out) AS iwant_pairs_out,
       COUNT(CASE WHEN recv_last > iwant_out THEN 1 END) AS iwant_answered,
       COUNT(CASE WHEN delivered > iwant_out THEN 1 END) AS iwant_useful,
       COUNT(delivered) AS pairs_delivered, COUNT(sent_first) AS pairs_sent, COUNT(have_tx_out) AS
         have_tx_pairs_out
FROM edges GROUP BY run""",
    ),
)
HOPS: tuple[GoldQuery, ...] = (
    GoldQuery(
        "hop_counts",
        "row",
        "SELECT run, hops, COUNT(*) AS deliveries FROM hops GROUP BY run, hops",
    ),
    GoldQuery(
        "depth_counts",
        "row",
        """
SELECT run, depth, COUNT(*) AS messages
FROM (SELECT run, message, MAX(hops) AS depth FROM hops WHERE hops IS NOT NULL GROUP BY run, message) AS far
GROUP BY run, depth""",
    ),
)
"""Over `hops`, which is made of `arrivals` by `gold/hops.py`: run, message, peer, hops (null where it leads
nowhere)."""

METRICS: tuple[GoldQuery, ...] = (*BASE, *MESSAGES, *REPEATS, *SUBSCRIBERS, *EDGES, *MESH, *ROUTES)
