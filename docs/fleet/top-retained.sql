-- Which classes keep most memory alive, by service?
-- Each host counts with its newest dump. Set the number of classes of each service in `params`.
WITH params AS (
  SELECT 10 AS most
),
newest AS (
  SELECT s.service, s.host, s.dump, row_number() OVER (
           PARTITION BY s.service, s.host ORDER BY s.date DESC, s.created DESC NULLS LAST, s.dump DESC
         ) AS age
  FROM summary s WHERE s.kind = 'heap'
),
by_class AS (
  SELECT n.service, h.family AS class, count(DISTINCT n.host) AS hosts,
         max(h.retained) AS most_retained, CAST(sum(h.retained) AS BIGINT) AS retained,
         CAST(sum(h.live_instances) AS BIGINT) AS instances
  FROM newest n
  JOIN histogram h ON h.service = n.service AND h.host = n.host AND h.dump = n.dump
  WHERE n.age = 1 GROUP BY n.service, h.family
),
ranked AS (
  SELECT b.*, row_number() OVER (PARTITION BY b.service ORDER BY b.retained DESC, b.class) AS place
  FROM by_class b
)
SELECT r.service, r.place, r.class, r.hosts, r.instances, r.retained, r.most_retained
FROM ranked r CROSS JOIN params p
WHERE r.place <= p.most
ORDER BY r.service, r.place
