-- Which services carry a suspect?
-- Suspects of different dumps are one if their signatures are: the classes and fields that hold
-- them. Set the signature in `params`, with % for any characters.
WITH params AS (
  SELECT '%' AS signature_like
)
SELECT f.signature, f.service, count(DISTINCT f.host) AS hosts, count(DISTINCT f.dump) AS dumps,
       min(f.date) AS first_seen, max(f.date) AS last_seen,
       max(f.retained) AS most_retained, round(max(f.share), 4) AS largest_share
FROM findings f CROSS JOIN params p
WHERE f.signature LIKE p.signature_like
GROUP BY f.signature, f.service
ORDER BY most_retained DESC, f.signature, f.service
LIMIT 100
