-- How many threads does each pool of a service have, and what do they keep alive?
-- Threads whose names differ only in digits are one pool. Each host counts with its newest dump.
WITH newest AS (
  SELECT s.service, s.host, s.dump, row_number() OVER (
           PARTITION BY s.service, s.host ORDER BY s.date DESC, s.created DESC NULLS LAST, s.dump DESC
         ) AS age
  FROM summary s WHERE s.kind = 'heap'
),
named AS (
  SELECT n.service, n.host, t.retained, translate(coalesce(t.name, '(no name)'), '0123456789', '') AS pool
  FROM newest n
  JOIN threads t ON t.service = n.service AND t.host = n.host AND t.dump = n.dump
  WHERE n.age = 1
),
by_host AS (
  SELECT service, host, pool, count(*) AS threads, sum(retained) AS retained
  FROM named GROUP BY service, host, pool
)
SELECT service, pool, count(*) AS hosts, CAST(sum(threads) AS BIGINT) AS threads,
       max(threads) AS most_threads, CAST(sum(retained) AS BIGINT) AS retained
FROM by_host
GROUP BY service, pool
ORDER BY threads DESC, service, pool
LIMIT 100
