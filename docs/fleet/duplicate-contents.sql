-- Which contents waste most, over all services?
-- Each host counts with its newest dump. The texts are there if the dumps were exported with
-- `--strings`.
WITH newest AS (
  SELECT s.service, s.host, s.dump, row_number() OVER (
           PARTITION BY s.service, s.host ORDER BY s.date DESC, s.created DESC NULLS LAST, s.dump DESC
         ) AS age
  FROM summary s WHERE s.kind = 'heap'
)
SELECT d.hash, d.element, max(d.text) AS text, count(DISTINCT n.service) AS services,
       count(*) AS dumps, CAST(sum(d.copies) AS BIGINT) AS copies, CAST(sum(d.waste) AS BIGINT) AS waste
FROM newest n
JOIN duplicates d ON d.service = n.service AND d.host = n.host AND d.dump = n.dump
WHERE n.age = 1
GROUP BY d.hash, d.element
ORDER BY waste DESC, d.hash
LIMIT 100
