-- Over `hops`, which `gold/hops.py` makes of `arrivals`: run, message, peer, hops (null where it leads nowhere).

-- name: hop_counts (row)
SELECT run, hops, COUNT(*) AS deliveries FROM hops GROUP BY run, hops

-- name: depth_counts (row)
SELECT run, depth, COUNT(*) AS messages
FROM (SELECT run, message, MAX(hops) AS depth FROM hops WHERE hops IS NOT NULL GROUP BY run, message) AS far
GROUP BY run, depth
