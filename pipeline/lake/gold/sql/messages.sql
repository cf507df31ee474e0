-- name: origins (kept)
-- The first publication in time; `seq` is of the order of files. A delivery of a peer to itself stands for
-- a publication where there is none; its time does not.
SELECT run, message, peer AS publisher, topic, seq,
       CASE WHEN type = 0 THEN at_ns END AS at_ns,
       CASE WHEN type = 0 THEN COALESCE(at_ns, seq) END AS t
FROM (SELECT *,
             ROW_NUMBER() OVER (PARTITION BY run, message ORDER BY type, COALESCE(at_ns, seq), seq) AS rank
      FROM told
      WHERE message IS NOT NULL AND (type = 0 OR (type = 3 AND remote = peer))) AS own
WHERE rank = 1

-- name: delivered (kept)
SELECT run, peer, message, topic, remote, seq, at_ns,
       CAST(ROW_NUMBER() OVER (PARTITION BY run, peer, message ORDER BY seq) AS INT) AS rank,
       LAG(at_ns) OVER (PARTITION BY run, peer, message ORDER BY seq) AS before_ns,
       LAG(seq) OVER (PARTITION BY run, peer, message ORDER BY seq) AS before_seq
FROM told WHERE type = 3 AND message IS NOT NULL AND peer IS NOT NULL

-- name: arrivals (kept)
SELECT d.run, d.peer, d.message, COALESCE(d.topic, o.topic) AS topic, d.remote, d.seq, d.at_ns, d.rank,
       o.publisher, o.at_ns AS origin_ns, o.t AS origin_t
FROM delivered AS d LEFT JOIN origins AS o ON d.run = o.run AND d.message = o.message
WHERE (d.remote IS NULL OR d.remote <> d.peer) AND (o.publisher IS NULL OR o.publisher <> d.peer)

-- name: published_runs (view)
SELECT run, COUNT(at_ns) > 0 AS published FROM origins GROUP BY run

-- name: latencies (kept)
SELECT a.run, a.message, a.peer, a.at_ns - CASE WHEN r.published THEN a.origin_ns ELSE f.first_ns END AS ns
FROM arrivals AS a
JOIN (SELECT run, message, MIN(at_ns) AS first_ns FROM arrivals WHERE rank = 1 GROUP BY run, message) AS f
  ON a.run = f.run AND a.message = f.message
LEFT JOIN published_runs AS r ON a.run = r.run
WHERE a.rank = 1

-- name: latency_counts (view)
SELECT run, CAST(ROUND(ns / 1e3) AS BIGINT) AS us, COUNT(*) AS n FROM latencies
WHERE ns IS NOT NULL GROUP BY run, CAST(ROUND(ns / 1e3) AS BIGINT)

-- name: run_latency (row)
SELECT run, MIN(CASE WHEN upto * 100 >= total * 50 THEN us END) AS p50_us,
       MIN(CASE WHEN upto * 100 >= total * 95 THEN us END) AS p95_us,
       MIN(CASE WHEN upto * 100 >= total * 99 THEN us END) AS p99_us, MAX(us) AS max_us
FROM (SELECT run, us, SUM(n) OVER (PARTITION BY run ORDER BY us) AS upto,
             SUM(n) OVER (PARTITION BY run) AS total
      FROM latency_counts) AS ranked
GROUP BY run

-- name: message_stats (gold)
SELECT m.run, m.message, o.publisher, o.topic, o.at_ns AS published_ns,
       COALESCE(l.deliveries, 0) AS deliveries, l.first_us, l.last_us
FROM (SELECT DISTINCT run, message FROM told WHERE type IN (0, 3) AND message IS NOT NULL) AS m
LEFT JOIN origins AS o ON m.run = o.run AND m.message = o.message
LEFT JOIN (SELECT run, message, COUNT(*) AS deliveries, CAST(ROUND(MIN(ns) / 1e3) AS BIGINT) AS first_us,
                  CAST(ROUND(MAX(ns) / 1e3) AS BIGINT) AS last_us
           FROM latencies GROUP BY run, message) AS l
  ON m.run = l.run AND m.message = l.message

-- name: run_messages (row)
SELECT m.run, m.messages, m.deliveries, COALESCE(r.repeats, 0) AS repeats,
       COALESCE(p.published, FALSE) AS published
FROM (SELECT run, COUNT(*) AS messages, CAST(SUM(deliveries) AS BIGINT) AS deliveries
      FROM message_stats GROUP BY run) AS m
LEFT JOIN (SELECT run, COUNT(*) AS repeats FROM arrivals WHERE rank > 1 GROUP BY run) AS r ON m.run = r.run
LEFT JOIN published_runs AS p ON m.run = p.run
