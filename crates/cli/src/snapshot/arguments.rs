//! The arguments of all commands that open a heap dump.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, ValueEnum};
use hprof_analysis::graph::{Follow, ReferenceKind};
use hprof_analysis::snapshot::INDEX_LIMIT;

use crate::mapping::MappingArgument;
use crate::memory::{MemoryArgument, parse_size};
use crate::open::DumpArgument;

/// The dump, and how to look at it.
#[derive(Debug, Args)]
pub struct HeapArguments {
    /// A heap dump in binary format, plain or compressed with gzip, zip, zstd, xz or
    /// bzip2; `-` for standard input.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    #[command(flatten)]
    pub look: OpenArguments,
}

/// How to look at a dump.
#[derive(Debug, Clone, Args)]
pub struct OpenArguments {
    #[command(flatten)]
    pub dump: DumpArgument,

    /// The kinds of java.lang.ref.Reference that keep their referent alive.
    #[arg(
        long,
        value_name = "KINDS",
        value_enum,
        value_delimiter = ',',
        default_value = "soft"
    )]
    pub follow: Vec<Kind>,

    /// A field that does not keep its object alive, such as `com.example.Node.cache`; may be
    /// repeated.
    #[arg(long, value_name = "CLASS.FIELD")]
    pub without_field: Vec<String>,

    #[command(flatten)]
    pub mapping: MappingArgument,

    #[command(flatten)]
    pub memory: MemoryArgument,

    /// The folder for the index, with which the next command opens the dump at once; `cache`
    /// means $XDG_CACHE_HOME/hprof-rs/index [default: beside dumps of 32 MB or more, in the cache
    /// if that folder cannot be written to].
    #[arg(long, value_name = "DIR|cache", conflicts_with = "no_index")]
    pub index: Option<PathBuf>,

    /// The total size of the indexes in the cache; the least recently used are removed first.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "10G")]
    pub index_limit: u64,

    /// Only this program writes to the folder of `--index`, as for the server's own folder.
    #[arg(long, hide = true, requires = "index")]
    pub trust_index: bool,

    /// Do not use or write an index.
    #[arg(long)]
    pub no_index: bool,
}

impl Default for OpenArguments {
    fn default() -> Self {
        Self {
            dump: DumpArgument { dump: None },
            follow: vec![Kind::Soft],
            without_field: Vec::new(),
            mapping: MappingArgument::default(),
            memory: MemoryArgument::default(),
            index: None,
            trust_index: false,
            index_limit: INDEX_LIMIT,
            no_index: false,
        }
    }
}

/// A kind of `java.lang.ref.Reference`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// None of them.
    None,
    /// Soft references, which the VM clears only when memory is short.
    Soft,
    /// Weak references.
    Weak,
    /// Phantom references.
    Phantom,
    /// References of objects with a `finalize` method.
    Final,
}

impl OpenArguments {
    /// The references that keep objects alive.
    ///
    /// # Errors
    /// If a field is given without its class.
    pub fn follow(&self) -> anyhow::Result<Follow> {
        let kind = |kind: &Kind| match kind {
            Kind::None => None,
            Kind::Soft => Some(ReferenceKind::Soft),
            Kind::Weak => Some(ReferenceKind::Weak),
            Kind::Phantom => Some(ReferenceKind::Phantom),
            Kind::Final => Some(ReferenceKind::Final),
        };
        let mut without = Vec::new();
        for field in &self.without_field {
            let (class, name) = field.rsplit_once('.').with_context(|| {
                format!(
                    "--without-field {field}: give class and field, as in com.example.Node.cache"
                )
            })?;
            without.push((class.to_owned(), name.to_owned()));
        }
        let mut kinds: Vec<ReferenceKind> = self.follow.iter().filter_map(kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        Ok(Follow { kinds, without })
    }
}
