-- Which classes grow across the last N dumps of a service?
-- A class counts for a host if its live bytes grow from each dump of the host to the next. The rows
-- add up the hosts. Set the service (% for all) and N in `params`; hosts with fewer than three dumps
-- say nothing.
WITH params AS (
  SELECT '%' AS service_like, 5 AS last_dumps, 3 AS least_dumps
),
recent AS (
  SELECT s.service, s.host, s.dump, p.least_dumps,
         row_number() OVER (
           PARTITION BY s.service, s.host ORDER BY s.date DESC, s.created DESC NULLS LAST, s.dump DESC
         ) AS age,
         p.last_dumps
  FROM summary s CROSS JOIN params p
  WHERE s.kind = 'heap' AND s.service LIKE p.service_like
),
counts AS (
  SELECT service, host, count(*) AS dumps, max(least_dumps) AS least_dumps
  FROM recent WHERE age <= last_dumps GROUP BY service, host
),
sizes AS (
  SELECT r.service, r.host, r.age, h.family AS class, sum(h.live_bytes) AS bytes
  FROM recent r
  JOIN histogram h ON h.service = r.service AND h.host = r.host AND h.dump = r.dump
  WHERE r.age <= r.last_dumps
  GROUP BY r.service, r.host, r.age, h.family
),
steps AS (
  SELECT service, host, class, age, bytes,
         bytes - lag(bytes) OVER (PARTITION BY service, host, class ORDER BY age DESC) AS step
  FROM sizes
),
grown AS (
  SELECT service, host, class, count(*) AS dumps, min(step) AS least_step, sum(step) AS grown_bytes,
         max(CASE WHEN age = 1 THEN bytes END) AS last_bytes
  FROM steps GROUP BY service, host, class
)
SELECT g.service, g.class, count(*) AS hosts,
       CAST(sum(g.grown_bytes) AS BIGINT) AS grown_bytes, CAST(sum(g.last_bytes) AS BIGINT) AS last_bytes
FROM grown g
JOIN counts c ON c.service = g.service AND c.host = g.host AND c.dumps = g.dumps
WHERE g.least_step > 0 AND c.dumps >= c.least_dumps
GROUP BY g.service, g.class
ORDER BY grown_bytes DESC, g.service, g.class
LIMIT 100
