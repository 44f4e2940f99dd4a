//! The option `--mapping`, with which shortened programs get their names back.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use hprof_analysis::mapping::Mapping;

/// The mapping of a shortened program.
#[derive(Debug, Clone, Default, Args)]
pub struct MappingArgument {
    /// The program's mapping file of R8 or ProGuard, for its original names of classes, fields
    /// and methods.
    #[arg(long, value_name = "FILE")]
    pub mapping: Option<PathBuf>,
}

impl MappingArgument {
    /// The names, if there is a file of them.
    ///
    /// # Errors
    /// The file cannot be read, or maps nothing.
    pub fn read(&self) -> anyhow::Result<Option<Mapping>> {
        let Some(path) = &self.mapping else {
            return Ok(None);
        };
        let text = std::fs::read(path).with_context(|| format!("--mapping {}", path.display()))?;
        let mapping = Mapping::parse(&String::from_utf8_lossy(&text));
        if mapping.is_empty() {
            bail!(
                "--mapping {}: no line of it reads `original.Class -> short.Name:`, as in a mapping.txt \
                 of R8 or ProGuard",
                path.display()
            );
        }
        Ok(Some(mapping))
    }
}
