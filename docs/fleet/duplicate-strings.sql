-- How much memory do equal strings and arrays waste, by service?
-- Each host counts with its newest dump.
WITH newest AS (
  SELECT s.*, row_number() OVER (
           PARTITION BY s.service, s.host ORDER BY s.date DESC, s.created DESC NULLS LAST, s.dump DESC
         ) AS age
  FROM summary s WHERE s.kind = 'heap'
)
SELECT service, count(*) AS hosts,
       CAST(sum(duplicate_waste) AS BIGINT) AS array_waste,
       CAST(sum(string_waste) AS BIGINT) AS string_waste,
       CAST(sum(live_bytes) AS BIGINT) AS live_bytes,
       round(sum(duplicate_waste) / CAST(sum(live_bytes) AS DOUBLE), 4) AS wasted_share
FROM newest WHERE age = 1 AND live_bytes > 0
GROUP BY service
ORDER BY array_waste DESC, service
