//! The kinds of files that people give to a command, each with the words for it and who reads it.

use std::borrow::Cow;

use hprof_foreign::Kind as Foreign;

/// A kind of file, as far as its first bytes tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// HPROF in binary format: heap dumps, profiles or both.
    BinaryHprof,
    /// HPROF in text format.
    TextHprof,
    /// A profile of another tool, or a recording.
    Foreign(Foreign),
    /// A recording of a JDK before 11, in another version of the format.
    OldRecording,
    /// An archive in which no file was chosen.
    Tar,
    /// Thread dumps as text or JSON.
    ThreadDump,
    /// A log of HotSpot's garbage collectors.
    GcLog,
    /// XML that OpenJ9 writes with `-verbose:gc`.
    VerboseGc,
    /// A log of JRockit's garbage collector.
    JRockitLog,
    /// A portable heap dump of OpenJ9.
    Phd,
    /// A profile in the older format of gperftools.
    LegacyPprof,
    /// A report of a crash.
    CrashReport,
    /// A core file.
    CoreDump,
    /// A crash dump of Windows.
    Minidump,
    /// A program or library.
    Elf,
    /// A Java class.
    Class,
    /// An archive of classes.
    Jar,
    /// A picture of points, by its name.
    Picture(&'static str),
    /// A drawing.
    Svg,
    /// A page.
    Html,
    /// A document.
    Pdf,
    /// A database.
    Sqlite,
    /// A table.
    Parquet,
    /// An index of this command.
    Index,
    /// A dump with this many bytes of other things before it.
    Prefixed(usize),
    /// A dump in which a transfer as text has changed line ends.
    Translated,
    /// Bytes as text.
    Base64,
    /// Nothing was written but zeros.
    Zeros,
    /// JSON of another kind.
    Json,
    /// Anything else that is text.
    Text,
}

impl FileKind {
    /// The kind in words that follow "is".
    pub const fn what(self) -> &'static str {
        match self {
            Self::BinaryHprof => "an HPROF file in binary format",
            Self::TextHprof => "an HPROF profile in text format (format=a)",
            Self::Foreign(Foreign::Jfr) => "a recording of the JDK Flight Recorder",
            Self::Foreign(Foreign::Collapsed) => "collapsed stacks",
            Self::Foreign(Foreign::Pprof) => "a pprof profile",
            Self::Foreign(Foreign::Speedscope) => "a profile for speedscope",
            Self::Foreign(Foreign::Firefox) => "a profile for the Firefox Profiler",
            Self::Foreign(Foreign::Perf) => "the output of perf script",
            Self::Foreign(Foreign::Otlp) => "profiles of OpenTelemetry",
            Self::OldRecording => "a recording of Flight Recorder of JDK 7 to 10",
            Self::Tar => "a tar archive",
            Self::ThreadDump => "a thread dump (jstack)",
            Self::GcLog => "a log of the garbage collector",
            Self::VerboseGc => "a garbage collection log of OpenJ9 (verbosegc, XML)",
            Self::JRockitLog => "a garbage collection log of JRockit",
            Self::Phd => "a heap dump of OpenJ9 (PHD)",
            Self::LegacyPprof => "a profile in pprof's old format",
            Self::CrashReport => "a JVM's report of a crash (hs_err)",
            Self::CoreDump => "a core dump",
            Self::Minidump => "a crash dump of Windows",
            Self::Elf => "a program or library (ELF)",
            Self::Class => "a Java class",
            Self::Jar => "a jar",
            Self::Picture(name) => name,
            Self::Svg => "a picture (SVG)",
            Self::Html => "a page (HTML)",
            Self::Pdf => "a PDF document",
            Self::Sqlite => "a database of SQLite",
            Self::Parquet => "a table (Parquet)",
            Self::Index => "an index of hprof-rs",
            Self::Prefixed(_) => "a dump with other bytes in front of it",
            Self::Translated => "a dump that a transfer as text has damaged",
            Self::Base64 => "text in base64",
            Self::Zeros => "nothing but zeros at its start",
            Self::Json => "JSON",
            Self::Text => "plain text",
        }
    }

    /// Who reads it, or how something that is read comes of it.
    pub fn advice(self) -> Cow<'static, str> {
        if let Self::Prefixed(bytes) = self {
            return format!(
                "`tail -c +{} FILE > dump.hprof` leaves the {bytes} bytes before the dump out",
                bytes + 1
            )
            .into();
        }
        self.fixed_advice().into()
    }

    /// The advice, without figures of the file.
    pub const fn fixed_advice(self) -> &'static str {
        match self {
            Self::BinaryHprof => "`hprof-rs summary FILE` shows what it has",
            Self::TextHprof => {
                "`hprof-rs summary`, `samples`, `sites` and `threads` show it; a heap dump to analyse is a file of \
                 format=b or of `jcmd PID GC.heap_dump`"
            }
            Self::Foreign(Foreign::Jfr) => {
                "`hprof-rs summary`, `samples` and `convert` show its profile, `gc` its collections, `stacks` its \
                 thread dumps"
            }
            Self::Foreign(_) => "`hprof-rs summary`, `samples` and `convert` show it",
            Self::ThreadDump => {
                "`hprof-rs stacks FILE` shows it; `threads` shows the threads of a heap dump"
            }
            Self::OldRecording => {
                "JDK Mission Control opens it; JDK 11 and later, and OpenJDK 8u262 and later, record in the version \
                 that is read here"
            }
            Self::Tar => "`tar -xf FILE` extracts what is in it; give the dump or profile",
            Self::GcLog => "`hprof-rs gc FILE` summarizes it; a heap dump is another file",
            Self::VerboseGc => {
                "GCMV (Garbage Collection and Memory Visualizer, an Eclipse plug-in) reads it; this command has no \
                 reader for it"
            }
            Self::JRockitLog => "GCViewer reads it; this command has no reader for it",
            Self::Phd => {
                "Eclipse MAT with DTFJ reads it; `jcmd PID Dump.heap` of OpenJ9 has other formats"
            }
            Self::LegacyPprof => "`pprof -proto FILE > profile.pb.gz` makes a profile that is read",
            Self::CrashReport => "it is text to be read; a heap dump is another file",
            Self::CoreDump | Self::Minidump => {
                "`jhsdb jmap --binaryheap --core FILE --exe JAVA` makes a heap dump of it"
            }
            Self::Elf => {
                "give the dump or profile that a JVM wrote; `hprof-rs run -- java ...` makes one"
            }
            Self::Class => {
                "`javap -v FILE` shows it; start its program with `hprof-rs run -- java CLASS`"
            }
            Self::Jar => {
                "start its program with `hprof-rs run -- java -jar FILE`, or give the dump"
            }
            Self::Picture(_) => "give the profile that it was made of",
            Self::Svg => "open it in a browser, or give the profile that it was made of",
            Self::Html => "open it in a browser, or give the dump or profile that it was made of",
            Self::Pdf => "give the dump or profile that it is about",
            Self::Sqlite => "`sqlite3 FILE` reads it",
            Self::Parquet => "`duckdb` reads it, or give the dump that it was made of",
            Self::Index => "give the dump that it belongs to",
            Self::Prefixed(_) => {
                "`grep -abo 'JAVA PROFILE' FILE` says where it begins, and `tail -c +N FILE` cuts there"
            }
            Self::Translated => {
                "copy it again in binary mode (FTP: `binary`; no terminal or text conversion in between)"
            }
            Self::Base64 => "`base64 -d FILE > dump` makes the file that it was",
            Self::Zeros => {
                "the disk was full, or the copy has not ended; copy it again, and compare the sizes and `sha256sum`"
            }
            Self::Json => "`jq . FILE` shows it; give the dump or profile that it was made of",
            Self::Text => {
                "give a heap dump, or a profile that begins with JAVA PROFILE; `hprof-rs run` makes one"
            }
        }
    }

    /// Returns true if a command of this project reads files of this kind for what it shows of them.
    pub fn is_read_by(self, command: &str) -> bool {
        match self {
            Self::Foreign(Foreign::Jfr) => matches!(command, "gc" | "stacks"),
            Self::ThreadDump => command == "stacks",
            Self::GcLog => command == "gc",
            _ => false,
        }
    }
}
