//! The files, analyses and views that one assistant has open.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hprof_server::views::ViewError;
use hprof_server::views::opened::Opened;
use hprof_server::views::profile::ProfileFile;
use hprof_server::views::service::Views;
use hprof_server::views::sql::Runner;

use crate::Config;
use crate::analyses::{Analyses, Analysis, Kind};
use crate::call::{Call, Refusal};
use crate::roots::Roots;

/// How long a question waits for its file to be read, in seconds; assistants give up after a minute.
pub const PATIENCE: u64 = 45;

/// The files, analyses and views of one assistant.
#[derive(Debug)]
pub struct Session {
    /// The files that may be read.
    pub roots: Arc<Roots>,
    views: Arc<Views>,
    analyses: Analyses,
}

impl Session {
    /// Nothing is open.
    ///
    /// # Errors
    /// If there is no folder for analyses.
    pub fn new(config: Config) -> io::Result<Self> {
        Ok(Self {
            analyses: Analyses::new(config.executable, config.memory, config.cache.as_deref())?,
            roots: Arc::new(config.roots),
            views: Arc::default(),
        })
    }

    /// `hprof-rs`.
    pub fn executable(&self) -> &PathBuf {
        &self.analyses.maker.executable
    }

    /// The memory that a process may take, in bytes.
    pub fn memory(&self) -> u64 {
        self.analyses.maker.memory
    }

    /// Runs queries.
    pub fn runner(&self) -> Runner<'_> {
        Runner {
            executable: self.executable(),
            memory: self.memory(),
            deadline: hprof_server::views::sql::DEADLINE,
        }
    }

    /// Opened analyses.
    pub fn views(&self) -> &Arc<Views> {
        &self.views
    }

    /// The analysis of a file, made now where there is none.
    ///
    /// # Errors
    /// If the file may not be read, is no dump or profile, or takes longer than that to read.
    pub async fn analysis(
        &self,
        call: &Call,
        file: &str,
        patience: u64,
    ) -> Result<Arc<Analysis>, Refusal> {
        let (roots, asked) = (Arc::clone(&self.roots), file.to_owned());
        let found = blocking(move || roots.find(&asked)).await?;
        self.analyses
            .get(found, call, Duration::from_secs(patience))
            .await
    }

    /// The analysis of a heap dump.
    ///
    /// # Errors
    /// As [`Self::analysis`] has them, or if the file is a profile.
    pub async fn heap_dump(&self, call: &Call, file: &str) -> Result<Arc<Analysis>, Refusal> {
        let analysis = self.analysis(call, file, PATIENCE).await?;
        match analysis.kind {
            Kind::Heap => Ok(analysis),
            Kind::Profile => Err(Refusal::Wrong(format!(
                "{file} is a profile without a heap dump; ask methods, callers, callees or call_tree"
            ))),
        }
    }

    /// Asks a view of a heap dump.
    ///
    /// # Errors
    /// Returns the errors of the view, and of [`Self::heap_dump`].
    pub async fn heap<T: Send + 'static>(
        &self,
        call: &Call,
        file: &str,
        view: impl FnOnce(&Arc<Opened>) -> Result<T, ViewError> + Send + 'static,
    ) -> Result<T, Refusal> {
        let analysis = self.heap_dump(call, file).await?;
        let views = Arc::clone(&self.views);
        blocking(move || Ok(view(&views.heap(&analysis.key, analysis.files.clone())?)?)).await
    }

    /// Asks a view of a profile.
    ///
    /// # Errors
    /// Returns the errors of the view, and of [`Self::analysis`], or if the file has no stacks with
    /// costs.
    pub async fn profile<T: Send + 'static>(
        &self,
        call: &Call,
        file: &str,
        view: impl FnOnce(&ProfileFile) -> Result<T, ViewError> + Send + 'static,
    ) -> Result<T, Refusal> {
        let analysis = self.analysis(call, file, PATIENCE).await?;
        let views = Arc::clone(&self.views);
        blocking(move || {
            let files = &analysis.files;
            let open = || ProfileFile::open(&files.dump, &files.name);
            Ok(view(&*views.profile(&analysis.key, open)?)?)
        })
        .await
    }
}

/// Runs work that blocks on a thread of its own.
///
/// # Errors
/// Returns the errors of the work, or that it has panicked.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| {
        Refusal::Wrong("the analysis broke on this file; please report it".to_owned())
    })?
}
