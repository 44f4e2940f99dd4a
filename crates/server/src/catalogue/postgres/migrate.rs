//! The steps from one version of the schema to the next.

use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::Error;

use super::pool::Pool;
use crate::catalogue::{CatalogueError, Result};

/// The steps; never changed once released.
const MIGRATIONS: [&str; 5] = [
    include_str!("schema.sql"),
    include_str!("figures.sql"),
    // The most room that a worker without other work had for a job that waits.
    "ALTER TABLE jobs ADD COLUMN room bigint",
    // The values that were blanked, and by whom.
    "ALTER TABLE dumps ADD COLUMN strippings text NOT NULL DEFAULT '[]';
     ALTER TABLE uploads ADD COLUMN stripped text NOT NULL DEFAULT ''",
    include_str!("pushed.sql"),
];
/// The advisory lock of those who migrate: the bytes of `hprof_rs`.
const LOCK: i64 = i64::from_be_bytes(*b"hprof_rs");
/// How long all steps may take, with the wait for another who migrates.
const DEADLINE: Duration = Duration::from_secs(120);

/// Brings the schema up to date. If two servers begin at once, the second waits for the first.
pub(super) async fn migrate(pool: &Pool) -> Result<()> {
    let done = timeout(DEADLINE, async {
        let mut client = pool.connect(|_| {}).await?;
        let steps = async {
            let transaction = client.transaction().await?;
            let begin = format!(
                "SET LOCAL statement_timeout = '100s'; SELECT pg_advisory_xact_lock({LOCK});
                 SET LOCAL client_min_messages = warning;
                 CREATE TABLE IF NOT EXISTS hprof_rs_schema (version bigint NOT NULL)"
            );
            transaction.batch_execute(&begin).await?;
            let sql = "SELECT coalesce(max(version), 0) FROM hprof_rs_schema";
            let version: i64 = transaction.query_one(sql, &[]).await?.try_get(0)?;
            let version = usize::try_from(version).unwrap_or(usize::MAX);
            let Some(missing) = MIGRATIONS.get(version..) else {
                return Ok(false);
            };
            for step in missing {
                transaction.batch_execute(step).await?;
            }
            if !missing.is_empty() {
                let version = MIGRATIONS.len() as i64;
                let sql = "INSERT INTO hprof_rs_schema (version) VALUES ($1)";
                transaction.execute(sql, &[&version]).await?;
            }
            transaction.commit().await?;
            Ok(true)
        };
        let steps: std::result::Result<bool, Error> = steps.await;
        match steps {
            Ok(true) => Ok(()),
            Ok(false) => Err(CatalogueError::failed(
                "the database was written by a later version of hprof-rs; use that version",
            )),
            Err(error) => Err(pool.failure(&error)),
        }
    });
    let late = || CatalogueError::Away("its schema could not be brought up to date".to_owned());
    done.await.unwrap_or_else(|_| Err(late()))
}
