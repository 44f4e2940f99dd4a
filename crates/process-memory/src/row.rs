//! The rows of the table.

use serde::Serialize;

use crate::Bytes;

/// A purpose of memory. Each resident page counts in one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Java objects.
    JavaHeap,
    /// Metadata of classes, but for the class space.
    Metaspace,
    /// The part of the metadata that compressed class pointers lead into.
    ClassSpace,
    /// Compiled code.
    CodeCache,
    /// Stacks of threads.
    ThreadStacks,
    /// Mappings that the JVM makes for itself: bitmaps and card tables of the collector and its like.
    JvmMapped,
    /// Memory that the JVM takes from `malloc`: collector, compiler, symbols.
    JvmMalloc,
    /// Direct buffers and `Unsafe.allocateMemory`.
    DirectBuffers,
    /// Memory that libraries take from `malloc`; without an account of the JVM the memory of buffers and of the JVM, too.
    NativeMalloc,
    /// Memory that was freed, and that `malloc` keeps.
    MallocFree,
    /// Files that the program maps.
    MappedFiles,
    /// The archive of the JDK's classes (CDS).
    ClassArchive,
    /// Programs and libraries.
    Libraries,
    /// The agent of this project.
    Agent,
    /// Memory that processes share.
    SharedMemory,
    /// Pages of the kernel.
    Kernel,
    /// Mappings whose owner is not known.
    Unexplained,
}

impl Kind {
    /// All kinds, in the order of the table.
    pub const ALL: [Self; 17] = [
        Self::JavaHeap,
        Self::Metaspace,
        Self::ClassSpace,
        Self::CodeCache,
        Self::ThreadStacks,
        Self::JvmMapped,
        Self::JvmMalloc,
        Self::DirectBuffers,
        Self::NativeMalloc,
        Self::MallocFree,
        Self::MappedFiles,
        Self::ClassArchive,
        Self::Libraries,
        Self::Agent,
        Self::SharedMemory,
        Self::Kernel,
        Self::Unexplained,
    ];

    /// Its name in tables and sentences.
    pub fn title(self) -> &'static str {
        match self {
            Self::JavaHeap => "Java heap",
            Self::Metaspace => "metaspace",
            Self::ClassSpace => "class space",
            Self::CodeCache => "code cache",
            Self::ThreadStacks => "thread stacks",
            Self::JvmMapped => "JVM: GC and other mappings",
            Self::JvmMalloc => "JVM: malloc",
            Self::DirectBuffers => "direct buffers, Unsafe",
            Self::NativeMalloc => "malloc in use",
            Self::MallocFree => "malloc: free, kept",
            Self::MappedFiles => "mapped files",
            Self::ClassArchive => "class archive (CDS)",
            Self::Libraries => "libraries",
            Self::Agent => "hprof-rs agent",
            Self::SharedMemory => "shared memory",
            Self::Kernel => "kernel pages",
            Self::Unexplained => "unexplained",
        }
    }
}

/// How a row was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Its mappings are known, and their resident pages are counted.
    #[default]
    Mappings,
    /// The JVM counts it (native memory tracking).
    Tracking,
    /// A size that the JVM reports, or sizes that follow from that of the heap.
    Estimate,
}

/// A part of a row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Part {
    /// A file, a group of threads, a class of loaders.
    pub name: String,
    /// How many things are in it.
    pub count: u64,
    /// Its resident memory.
    pub resident: Bytes,
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Its purpose.
    pub kind: Kind,
    /// Its pages in memory; the sum over all rows is the resident set.
    pub resident: Bytes,
    /// Memory that may be used, where the JVM reports it.
    pub committed: Option<Bytes>,
    /// Memory in use, where the JVM reports it.
    pub used: Option<Bytes>,
    /// Huge pages among the resident ones.
    pub huge: Bytes,
    /// Pages that were swapped out.
    pub swapped: Bytes,
    /// How it was found.
    pub basis: Basis,
    /// The number of things in it: threads, arenas, files. 0 where nothing is counted.
    pub count: u64,
    /// Its largest parts.
    pub parts: Vec<Part>,
}

impl Row {
    /// An empty row.
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            resident: Bytes::ZERO,
            committed: None,
            used: None,
            huge: Bytes::ZERO,
            swapped: Bytes::ZERO,
            basis: Basis::default(),
            count: 0,
            parts: Vec::new(),
        }
    }
}
