//! heap=dump: all objects, and what keeps them alive.
//!
//! The VM's own dumper writes the heap into a file without a name, which is read
//! twice: once for what is about classes, threads and roots ([`survey`]), then for the objects,
//! which are copied into a binary profile ([`splice`]) or told in text ([`text`]).
//! Nothing is kept for each object. Before the dump the mode costs nothing.
//!
//! In the profile all serials and names are the profile's own; object and class ids are the VM's
//! addresses.

mod primitive_array;
mod reader;
mod sizes;
mod splice;
mod survey;
mod text;
mod vm_dump;
mod vm_names;
mod write;

pub use reader::DumpError;
pub use write::{Content, Numbers};

use std::fmt;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::vm::{Jni, Jvmti, VmDumper};
use reader::DumpReader;
use sizes::Sizes;
use survey::Survey;

/// A dump that the VM has made, ready to be written into the profile.
pub struct Dump {
    file: File,
    survey: Survey,
    sizes: Option<Sizes>,
    started: Instant,
}

/// What is said about a dump in the end.
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    /// Objects and arrays.
    pub objects: u64,
    /// Bytes of the VM's file.
    pub bytes: u64,
    /// From the beginning to the end.
    pub time: Duration,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "heap dump: {} objects, {} MB in the VM's format, {:.1} s, after a GC",
            self.objects,
            self.bytes / 1_000_000,
            self.time.as_secs_f64()
        )
    }
}

impl Dump {
    /// Lets the VM dump its heap after a garbage collection. `output` is where the profile is, in whose
    /// folder there must be room for a copy. `text` tells that sizes are needed.
    ///
    /// # Errors
    /// Why there is no dump, as text.
    pub fn take(
        dumper: VmDumper,
        jvmti: Jvmti,
        jni: &Jni,
        output: &Path,
        text: bool,
    ) -> Result<Self, String> {
        let started = Instant::now();
        let sizes = text.then(|| Sizes::measure(jvmti, jni, true)).flatten();
        let file = vm_dump::take(dumper, jni, output, true)?;
        let mut survey = Survey::new(sizes.as_ref().map(Sizes::arrays));
        DumpReader::new(&file, false)
            .and_then(|reader| reader.read(&mut survey))
            .map_err(|error| error.to_string())?;
        Ok(Self {
            file,
            survey,
            sizes,
            started,
        })
    }

    fn summary(&self) -> Summary {
        Summary {
            objects: self.survey.objects,
            bytes: self.file.metadata().map_or(0, |data| data.len()),
            time: self.started.elapsed(),
        }
    }
}
