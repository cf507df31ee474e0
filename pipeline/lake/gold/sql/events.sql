-- The queries from silver to gold, each over those before it, in SQL that Spark and DuckDB both read.
-- `query.py` reads these files and says what the words in brackets mean; names in braces are settings.
--
-- `events` is silver. Order is that of `seq`, and of one peer alone; `at_ns` is used for durations on one clock,
-- and across peers where the metric or claim says so. Sums are cast because engines widen them differently;
-- times are kept as differences because sums of nanoseconds overflow.
--
-- Types: 0 publish, 1 reject, 2 duplicate, 3 deliver, 4 a stream opened, 5 closed, 6 an RPC received, 7 sent,
-- 8 dropped, 9 join, 10 leave, 11 graft, 12 prune; from 100 on they are ours (see `trace/events.py`). The kinds
-- of the rows of an RPC are in `silver/schema.py`.

-- name: told (kept)
-- All but RPCs, and of those the entries on meshes and routes: little, and read by most.
SELECT * FROM events WHERE type NOT IN (2, 6, 7, 8) OR kind IN (5, 6, 10)

-- name: peer_counts (kept)
SELECT run, peer, type, kind, COUNT(*) AS row_count, COUNT(message) AS with_message,
       CAST(SUM(CASE WHEN item = 0 THEN 1 ELSE 0 END) AS BIGINT) AS event_count,
       COUNT(wire) AS sized, CAST(SUM(wire) AS BIGINT) AS wire, MIN(at_ns) AS first_ns, MAX(at_ns) AS last_ns
FROM events GROUP BY run, peer, type, kind

-- name: kind_counts (row)
SELECT run, type, kind, CAST(SUM(row_count) AS BIGINT) AS row_count,
       CAST(SUM(with_message) AS BIGINT) AS with_message, CAST(SUM(event_count) AS BIGINT) AS event_count,
       CAST(SUM(sized) AS BIGINT) AS sized, CAST(SUM(wire) AS BIGINT) AS wire
FROM peer_counts GROUP BY run, type, kind

-- name: observers (view)
SELECT run, peer, MIN(first_ns) AS first_ns, MAX(last_ns) AS last_ns
FROM peer_counts WHERE peer IS NOT NULL AND type <> 100 GROUP BY run, peer

-- name: run_spans (row)
SELECT s.run, s.first_ns, s.last_ns, COALESCE(o.peers, 0) AS observers
FROM (SELECT run, MIN(first_ns) AS first_ns, MAX(last_ns) AS last_ns
      FROM peer_counts WHERE type <> 100 GROUP BY run) AS s
LEFT JOIN (SELECT run, COUNT(*) AS peers FROM observers GROUP BY run) AS o ON s.run = o.run

-- name: backoff_values (row)
SELECT run, COUNT(value) AS said FROM told WHERE type IN (6, 7) AND kind = 6 GROUP BY run

-- name: run_events (row)
SELECT run, seq, more FROM told WHERE type = 100

-- name: away (view)
-- While a peer is away: from a stream's end to the next one's beginning.
SELECT run, peer, remote, seq AS start_seq, end_seq
FROM (SELECT run, peer, remote, seq, type,
             LEAD(seq) OVER (PARTITION BY run, peer, remote ORDER BY seq) AS end_seq
      FROM told WHERE type IN (4, 5) AND remote IS NOT NULL) AS streams
WHERE type = 5
