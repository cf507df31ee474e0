-- name: edges (kept)
-- What passed between a peer and one neighbour of one message: most claims are a look at one row of this. Where the
-- peer delivered the message from that neighbour, it `came` with the first RPC that carried it: some routers log the
-- delivery after what they relay.
SELECT *, CASE WHEN recv_first < delivered THEN recv_first ELSE delivered END AS came FROM (
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
GROUP BY run, peer, remote, message) AS passed

-- name: control_stats (row)
SELECT run, COUNT(idontwant_out) AS idontwant_pairs_out, COUNT(idontwant_in) AS idontwant_pairs_in,
       COUNT(CASE WHEN idontwant_in IS NOT NULL AND (sent_last IS NULL OR sent_last < idontwant_in) THEN 1 END)
         AS idontwant_honoured,
       COUNT(ihave_in) AS ihave_pairs_in, COUNT(iwant_out) AS iwant_pairs_out,
       COUNT(CASE WHEN recv_last > iwant_out THEN 1 END) AS iwant_answered,
       COUNT(CASE WHEN delivered > iwant_out THEN 1 END) AS iwant_useful,
       COUNT(delivered) AS pairs_delivered, COUNT(sent_first) AS pairs_sent,
       COUNT(have_tx_out) AS have_tx_pairs_out
FROM edges GROUP BY run
