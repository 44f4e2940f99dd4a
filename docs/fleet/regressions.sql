-- Which classes take more memory in a new build than in an old one, over all hosts?
-- Each host counts with its newest dump of a build; a host that lacks a class counts with 0. Set the
-- service, the builds, and the least growth in `params`.
WITH params AS (
  SELECT '%' AS service_like, 'old' AS old_build, 'new' AS new_build,
         1.1 AS least_factor, 1000000 AS least_bytes
),
newest AS (
  SELECT s.service, s.host, s.dump, s.build,
         row_number() OVER (
           PARTITION BY s.service, s.host, s.build
           ORDER BY s.date DESC, s.created DESC NULLS LAST, s.dump DESC
         ) AS age
  FROM summary s CROSS JOIN params p
  WHERE s.kind = 'heap' AND s.service LIKE p.service_like AND s.build IN (p.old_build, p.new_build)
),
hosts AS (
  SELECT n.service,
         count(CASE WHEN n.build = p.old_build THEN 1 END) AS old_hosts,
         count(CASE WHEN n.build = p.new_build THEN 1 END) AS new_hosts
  FROM newest n CROSS JOIN params p WHERE n.age = 1 GROUP BY n.service
),
sizes AS (
  SELECT n.service, h.family AS class,
         sum(CASE WHEN n.build = p.old_build THEN h.live_bytes ELSE 0 END) AS old_sum,
         sum(CASE WHEN n.build = p.new_build THEN h.live_bytes ELSE 0 END) AS new_sum
  FROM newest n CROSS JOIN params p
  JOIN histogram h ON h.service = n.service AND h.host = n.host AND h.dump = n.dump
  WHERE n.age = 1 GROUP BY n.service, h.family
),
averages AS (
  SELECT z.service, z.class, t.old_hosts, t.new_hosts,
         CAST(floor(z.old_sum / t.old_hosts) AS BIGINT) AS old_bytes,
         CAST(floor(z.new_sum / t.new_hosts) AS BIGINT) AS new_bytes
  FROM sizes z JOIN hosts t ON t.service = z.service
  WHERE t.old_hosts > 0 AND t.new_hosts > 0
)
SELECT a.service, a.class, a.old_hosts, a.new_hosts, a.old_bytes, a.new_bytes,
       a.new_bytes - a.old_bytes AS grown_bytes
FROM averages a CROSS JOIN params p
WHERE a.new_bytes - a.old_bytes >= p.least_bytes AND a.new_bytes >= a.old_bytes * p.least_factor
ORDER BY grown_bytes DESC, a.service, a.class
LIMIT 100
