//! The statements of the questions. `docs/fleet/*.sql` says why they are as they are.

/// Heap dumps whose analysis is done and whose figures are not kept.
pub(super) const WITHOUT_FIGURES: &str = "
SELECT dumps.id FROM dumps JOIN jobs ON jobs.dump = dumps.id
WHERE dumps.figures = 0 AND dumps.kind = 'heap' AND jobs.state = 'done'
ORDER BY dumps.uploaded_at DESC, dumps.id LIMIT ?1";

/// Services with the newest dump of each host.
pub(super) const SERVICES: &str = "
WITH newest AS (
  SELECT service, taken_at, live_bytes, array_waste, string_waste, row_number() OVER (
           PARTITION BY service, host ORDER BY taken_at DESC, id DESC) AS age
  FROM dumps WHERE figures = 1
)
SELECT service, count(CASE WHEN age = 1 THEN 1 END), count(*), max(taken_at),
       CAST(sum(CASE WHEN age = 1 THEN live_bytes ELSE 0 END) AS BIGINT),
       CAST(sum(CASE WHEN age = 1 THEN array_waste ELSE 0 END) AS BIGINT),
       CAST(sum(CASE WHEN age = 1 THEN string_waste END) AS BIGINT)
FROM newest GROUP BY service ORDER BY 5 DESC, service LIMIT ?1";

/// The builds of a service.
pub(super) const BUILDS: &str = "
SELECT build, count(DISTINCT host), count(*), max(taken_at)
FROM dumps WHERE figures = 1 AND service = ?1
GROUP BY build ORDER BY 4 DESC, build LIMIT ?2";

/// The sizes of growing classes, a row for each class and dump.
pub(super) const GROWTH: &str = "
WITH recent AS (
  SELECT id, host, row_number() OVER (PARTITION BY host ORDER BY taken_at DESC, id DESC) AS age
  FROM dumps WHERE figures = 1 AND service = ?1
),
counts AS (
  SELECT host, count(*) AS dumps FROM recent WHERE age <= ?2 GROUP BY host HAVING count(*) >= 3
),
sizes AS (
  SELECT r.host, r.age, f.name, CAST(sum(f.objects) AS BIGINT) AS objects,
         CAST(sum(CASE WHEN CAST(?3 AS BIGINT) = 1 THEN f.retained ELSE f.shallow END) AS BIGINT) AS bytes
  FROM recent r JOIN counts c ON c.host = r.host JOIN class_figures f ON f.dump = r.id
  WHERE r.age <= ?2 GROUP BY r.host, r.age, f.name
),
steps AS (
  SELECT host, name, bytes - lag(bytes) OVER (PARTITION BY host, name ORDER BY age DESC) AS step
  FROM sizes
),
grown AS (
  SELECT s.host, s.name, c.dumps, sum(s.step) AS bytes
  FROM steps s JOIN counts c ON c.host = s.host
  GROUP BY s.host, s.name, c.dumps HAVING count(*) = c.dumps AND min(s.step) > 0
),
largest AS (
  SELECT name, count(*) AS hosts, CAST(sum(bytes) AS BIGINT) AS total
  FROM grown GROUP BY name ORDER BY 3 DESC, name LIMIT ?4
),
ages AS (SELECT DISTINCT age FROM recent WHERE age <= ?2)
SELECT l.name, l.hosts, l.total, CAST(sum(s.bytes) AS BIGINT), CAST(sum(s.objects) AS BIGINT)
FROM largest l JOIN grown g ON g.name = l.name CROSS JOIN ages a
JOIN sizes s ON s.host = g.host AND s.name = g.name
  AND s.age = CASE WHEN a.age < g.dumps THEN a.age ELSE g.dumps END
GROUP BY l.name, l.hosts, l.total, a.age ORDER BY l.total DESC, l.name, a.age DESC";

/// Average sizes by host of classes that grew between two builds.
pub(super) const REGRESSIONS: &str = "
WITH newest AS (
  SELECT id, build, row_number() OVER (PARTITION BY host, build ORDER BY taken_at DESC, id DESC) AS age
  FROM dumps WHERE figures = 1 AND service = ?1 AND build IN (?2, ?3)
),
hosts AS (
  SELECT count(CASE WHEN build = ?2 THEN 1 END) AS before_hosts,
         count(CASE WHEN build = ?3 THEN 1 END) AS after_hosts
  FROM newest WHERE age = 1
),
sizes AS (
  SELECT n.build, f.name, CASE WHEN CAST(?4 AS BIGINT) = 1 THEN f.retained ELSE f.shallow END AS bytes
  FROM newest n JOIN class_figures f ON f.dump = n.id WHERE n.age = 1
),
sums AS (
  SELECT name, CAST(sum(CASE WHEN build = ?2 THEN bytes ELSE 0 END) AS BIGINT) AS before_bytes,
         CAST(sum(CASE WHEN build = ?3 THEN bytes ELSE 0 END) AS BIGINT) AS after_bytes
  FROM sizes GROUP BY name
),
averages AS (
  SELECT s.name, h.before_hosts, h.after_hosts, s.before_bytes / h.before_hosts AS before_bytes,
         s.after_bytes / h.after_hosts AS after_bytes
  FROM sums s CROSS JOIN hosts h WHERE h.before_hosts > 0 AND h.after_hosts > 0
)
SELECT name, before_hosts, after_hosts, before_bytes, after_bytes FROM averages
WHERE after_bytes > before_bytes ORDER BY after_bytes - before_bytes DESC, name LIMIT ?5";

/// Suspects over services.
pub(super) const SUSPECTS: &str = "
WITH by_host AS (
  SELECT f.code, d.service, d.host, max(f.signature) AS signature, max(f.title) AS title,
         count(DISTINCT d.id) AS dumps, min(d.taken_at) AS first_at, max(d.taken_at) AS last_at,
         max(f.retained) AS retained, max(f.share) AS share
  FROM suspect_figures f JOIN dumps d ON d.id = f.dump
  WHERE CAST(?2 AS TEXT) = '' OR f.code = ?2
  GROUP BY f.code, d.service, d.host
)
SELECT code, max(signature), max(title), count(DISTINCT service), count(*), CAST(sum(dumps) AS BIGINT),
       min(first_at), max(last_at), max(retained), max(share)
FROM by_host GROUP BY code
HAVING CAST(?1 AS TEXT) = '' OR max(CASE WHEN service = ?1 THEN 1 ELSE 0 END) = 1
ORDER BY 4 DESC, 9 DESC, code LIMIT ?3";

/// The services of a suspect.
pub(super) const CARRIERS: &str = "
WITH found AS (
  SELECT d.service, d.host, d.id, d.taken_at, max(f.retained) AS retained, max(f.share) AS share,
         row_number() OVER (PARTITION BY d.service ORDER BY d.taken_at DESC, d.id DESC) AS age
  FROM suspect_figures f JOIN dumps d ON d.id = f.dump WHERE f.code = ?1
  GROUP BY d.service, d.host, d.id, d.taken_at
)
SELECT service, count(DISTINCT host), count(*), min(taken_at), max(taken_at), max(retained), max(share),
       max(CASE WHEN age = 1 THEN id END)
FROM found GROUP BY service ORDER BY 6 DESC, service LIMIT ?2";
