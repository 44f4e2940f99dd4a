//! The sentence on a cause, with the next step.

use std::fmt;

use crate::cause::Cause;

impl fmt::Display for Cause {
    /// A sentence on the cause with the next step.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HeapTooLarge { limit, most, rest } => write!(
                f,
                "The limit is {limit}; the heap may grow to {most} and the rest takes {rest}: the kernel will kill the process \
                 before Java sees an OutOfMemoryError. Lower -Xmx (or -XX:MaxRAMPercentage) below {}, or raise the limit.",
                *limit - *rest
            ),
            Self::HeapFull { used, most } => write!(
                f,
                "The Java heap is full: {used} of {most}. A heap dump shows which objects: `hprof-rs leaks` on it."
            ),
            Self::HeapKeepsEmpty { resident, used } => write!(
                f,
                "The Java heap keeps {resident} of memory for {used} of objects: a collector that gives memory back \
                 (G1 with -XX:G1PeriodicGCInterval, ZGC, Shenandoah) or a lower -Xmx frees the rest."
            ),
            Self::Heap {
                resident,
                used,
                most,
            } => {
                write!(f, "The Java heap takes most of the memory: {resident}")?;
                // Pages of objects that were never written to are not resident.
                if let Some(used) = used.filter(|used| used <= resident) {
                    write!(f, ", of which {used} are objects")?;
                }
                if let Some(most) = most {
                    write!(f, "; it may grow to {most}")?;
                }
                f.write_str(". `hprof-rs leaks` on a heap dump shows which objects.")
            }
            Self::Threads {
                threads,
                resident,
                group,
                of_group,
            } => write!(
                f,
                "{threads} threads hold {resident} of stacks, {of_group} of them are named \"{group}\": bound that pool, or lower \
                 -Xss; `hprof-rs stacks PID` shows what they do."
            ),
            Self::DirectBuffers { resident, buffers } => {
                write!(
                    f,
                    "Direct buffers and Unsafe.allocateMemory hold {resident}"
                )?;
                if let Some(buffers) = buffers {
                    write!(f, " in {buffers} buffers")?;
                }
                f.write_str(
                    ": -XX:MaxDirectMemorySize bounds direct buffers (by default they may take as much as the heap), and \
                     -Djdk.nio.maxCachedBufferSize bounds those that each thread keeps for sockets and files.",
                )
            }
            Self::DirectBuffersWait { unreachable, all } => write!(
                f,
                "{unreachable} of {all} direct buffers are unreachable, and waited for a collection of the heap: buffers that are \
                 closed by hand or reused, or a lower -XX:MaxDirectMemorySize, free them earlier."
            ),
            Self::ThreadBuffers {
                threads,
                buffers,
                resident,
            } => write!(
                f,
                "{threads} threads keep direct buffers for sockets and files, {buffers} buffers of {resident} in all: each keeps the \
                 largest that it ever needed. Start with -Djdk.nio.maxCachedBufferSize=262144, write in pieces, or use fewer threads."
            ),
            Self::MappedFiles { resident, largest } => write!(
                f,
                "Mapped files hold {resident}, most of it {largest}: the kernel takes clean pages of files back when memory is short, \
                 so this kills no container unless the pages are dirty."
            ),
            Self::Metaspace {
                resident,
                loader,
                loaders,
            } => {
                write!(f, "Metadata of classes holds {resident}")?;
                if let Some(loader) = loader {
                    write!(f, "; {loaders} loaders are of class {loader}")?;
                }
                f.write_str(
                    ": `hprof-rs classloaders` on a heap dump shows what keeps loaders alive; -XX:MaxMetaspaceSize bounds it.",
                )
            }
            Self::CodeCacheFull { used, size } => write!(
                f,
                "The code cache is full ({used} of {size}), so methods run uncompiled: raise -XX:ReservedCodeCacheSize."
            ),
            Self::Compressors {
                deflaters,
                inflaters,
                about,
            } => write!(
                f,
                "{deflaters} Deflater and {inflaters} Inflater objects hold about {about} outside of the heap until end() or close() is \
                 called: `hprof-rs paths` on a heap dump shows who holds them."
            ),
            Self::ArenasKeepFree {
                free,
                arenas,
                is_limited,
            } => {
                write!(f, "glibc keeps {free} of freed memory in {arenas} arenas: ")?;
                f.write_str(match is_limited {
                    true => "`jcmd PID System.trim_native_heap` (JDK 17 and later) gives it back; so does jemalloc.",
                    false => {
                        "start with MALLOC_ARENA_MAX=2, or give it back with `jcmd PID System.trim_native_heap` (JDK 17 and later)."
                    }
                })
            }
            Self::NativeMemory {
                resident,
                libraries,
            } => {
                write!(
                    f,
                    "Libraries hold {resident} of malloc memory that the JVM knows nothing of (JNI, compression, TLS, drivers): look at \
                     objects with native memory that are not closed (--objects counts some), and at JNI libraries"
                )?;
                match &libraries[..] {
                    [] => f.write_str("."),
                    names => write!(f, " ({}).", names.join(", ")),
                }
            }
            Self::Malloc { resident } => write!(
                f,
                "malloc holds {resident}: direct buffers, the JVM, or libraries. -XX:NativeMemoryTracking=summary separates them, and \
                 --objects counts the Java objects that hold such memory."
            ),
            Self::Unexplained {
                resident,
                allocator,
                libraries,
            } => {
                write!(
                    f,
                    "{resident} are in mappings that neither the JVM nor glibc's malloc made: "
                )?;
                match (allocator, &libraries[..]) {
                    (Some(name), _) => write!(
                        f,
                        "{name} is loaded, whose memory is not divided here; its own statistics do that."
                    ),
                    (None, []) => f.write_str(
                        "code that maps memory itself; `pmap -X PID` lists the mappings.",
                    ),
                    (None, names) => write!(
                        f,
                        "a library that maps memory itself ({}); `pmap -X PID` lists the mappings.",
                        names.join(", ")
                    ),
                }
            }
            Self::HugePages { huge } => write!(
                f,
                "Transparent huge pages make {huge} resident outside of the heap, whether it is used or not: set \
                 /sys/kernel/mm/transparent_hugepage/enabled to madvise."
            ),
            Self::Tmpfs { shared, current } => write!(
                f,
                "Files in memory (tmpfs, /dev/shm) take {shared} of the {current} that count against the limit, and the kernel cannot \
                 drop them: delete them, or mount a disk there."
            ),
            Self::OtherProcesses { group, resident } => write!(
                f,
                "The cgroup holds {group} of memory, and this process only {resident}: look at the other processes in it."
            ),
            Self::PageCache { cache, current } => write!(
                f,
                "{cache} of the {current} of the cgroup are page cache, which the kernel takes back when memory is short: the process is \
                 healthy."
            ),
            Self::Healthy { resident, limit } => match limit {
                Some(limit) => write!(
                    f,
                    "Nothing stands out: {resident} are resident, the limit is {limit}."
                ),
                None => write!(
                    f,
                    "Nothing stands out: {resident} are resident, and no cgroup limits that."
                ),
            },
        }
    }
}
