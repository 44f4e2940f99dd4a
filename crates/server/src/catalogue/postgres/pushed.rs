//! Segments of pushed profiles in PostgreSQL.

use std::time::Duration;

use tokio_postgres::Row;

use super::rows::{count, get};
use super::{PostgresCatalogue, number};
use crate::catalogue::pushed::{KEEPS, PRESENT, PushedSegment, PushedSegments, REPLACED, RESERVED};
use crate::catalogue::{CatalogueError, Result};

/// Leftovers of one answer.
const LEFTOVERS: i64 = 1000;

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

fn segment(row: &Row) -> Result<PushedSegment> {
    Ok(PushedSegment {
        id: get(row, 0)?,
        level: u32::try_from(count(row, 1)?).map_err(CatalogueError::failed)?,
        bytes: count(row, 2)?,
        sha256: get(row, 3)?,
    })
}

impl PushedSegments for PostgresCatalogue {
    fn pushed_segments(&self) -> Result<Vec<PushedSegment>> {
        let sql = "SELECT id, level, bytes, sha256 FROM pushed_segments WHERE state = 'live'";
        self.rows(sql, &[])?.iter().map(segment).collect()
    }

    fn reserve_pushed(&self, segment: &PushedSegment) -> Result<bool> {
        // The statement does not see its own row.
        let state: Option<String> = self.row(
            "WITH new AS (
                 INSERT INTO pushed_segments (id, state, level, bytes, sha256, changed_at)
                 VALUES ($1, 'reserved', $2, $3, $4, hprof_rs_now())
                 ON CONFLICT (id) DO NOTHING RETURNING state)
             SELECT state FROM new UNION ALL SELECT state FROM pushed_segments WHERE id = $1",
            &[
                &segment.id,
                &i64::from(segment.level),
                &number(segment.bytes),
                &segment.sha256,
            ],
            |row| get(row, 0),
        )?;
        Ok(state.is_some_and(|state| state == "reserved"))
    }

    fn publish_pushed(&self, id: &str) -> Result<bool> {
        self.change(
            "UPDATE pushed_segments SET state = 'live', changed_at = hprof_rs_now()
             WHERE id = $1 AND state = 'reserved' RETURNING id",
            &[&id],
        )
    }

    fn replace_pushed(&self, new: Option<&str>, gone: &[&str]) -> Result<bool> {
        // Of two servers that merge the same segments, the second waits for the locks of the first and then finds
        // fewer. A fixed order keeps two from waiting for each other.
        self.change(
            "WITH old AS (
                 SELECT id FROM pushed_segments WHERE id = ANY ($2) AND state = 'live'
                 ORDER BY id FOR UPDATE),
             made AS (
                 SELECT id FROM pushed_segments WHERE id = $1 AND state = 'reserved' FOR UPDATE),
             due AS (
                 SELECT id FROM old UNION ALL SELECT id FROM made),
             complete AS (
                 SELECT 1 WHERE (SELECT count(*) FROM due)
                     = cardinality($2::text[]) + ($1::text IS NOT NULL)::int)
             UPDATE pushed_segments
             SET state = CASE WHEN id = $1 THEN 'live' ELSE 'gone' END, changed_at = hprof_rs_now()
             WHERE id IN (SELECT id FROM due) AND EXISTS (SELECT 1 FROM complete)
             RETURNING id",
            &[&new, &gone],
        )
    }

    fn note_pushed_server(&self, server: &str) -> Result<u64> {
        let others = self.row(
            "WITH gone AS (
                 DELETE FROM pushed_servers WHERE id <> $1 AND seen_at < hprof_rs_now() - $2),
             own AS (
                 INSERT INTO pushed_servers (id, seen_at) VALUES ($1, hprof_rs_now())
                 ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at)
             SELECT count(*) FROM pushed_servers
             WHERE id <> $1 AND seen_at >= hprof_rs_now() - $2",
            &[&server, &millis(PRESENT)],
            |row| count(row, 0),
        )?;
        Ok(others.unwrap_or_default())
    }

    fn remove_pushed_server(&self, server: &str) -> Result<()> {
        self.rows(
            "WITH keeper AS (DELETE FROM pushed_keeper WHERE id = $1)
             DELETE FROM pushed_servers WHERE id = $1 RETURNING id",
            &[&server],
        )?;
        Ok(())
    }

    fn keep_pushed(&self, server: &str) -> Result<bool> {
        self.change(
            "INSERT INTO pushed_keeper (one, id, until) VALUES (true, $1, hprof_rs_now() + $2)
             ON CONFLICT (one) DO UPDATE SET id = excluded.id, until = excluded.until
             WHERE pushed_keeper.id = $1 OR pushed_keeper.until < hprof_rs_now()
             RETURNING id",
            &[&server, &millis(KEEPS)],
        )
    }

    fn pushed_leftovers(&self) -> Result<Vec<String>> {
        let found = self.rows(
            "SELECT id FROM pushed_segments
             WHERE state = 'gone' AND changed_at < hprof_rs_now() - $1
                 OR state = 'reserved' AND changed_at < hprof_rs_now() - $2
             LIMIT $3",
            &[&millis(REPLACED), &millis(RESERVED), &LEFTOVERS],
        )?;
        found.iter().map(|row| get(row, 0)).collect()
    }

    fn forget_pushed(&self, id: &str, memory: Duration) -> Result<()> {
        self.rows(
            "WITH reserved AS (
                 DELETE FROM pushed_segments WHERE id = $1 AND state = 'reserved'),
             old AS (
                 DELETE FROM pushed_segments
                 WHERE state = 'swept' AND changed_at < hprof_rs_now() - $2)
             UPDATE pushed_segments SET state = 'swept', changed_at = hprof_rs_now()
             WHERE id = $1 AND state = 'gone' RETURNING id",
            &[&id, &millis(memory)],
        )?;
        Ok(())
    }
}
