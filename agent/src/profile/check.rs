//! `logflags=4` and `debug=y`: reads the finished binary file back and looks everything up
//! that its records refer to. With a heap dump in it, `logflags=4` also lists all its records.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;

use hprof_format::listing::Listed;
use hprof_format::reader::{StreamError, StreamReader};
use hprof_format::verify::verify;

use crate::report;

/// The listing's name in the program's working directory, as that of the JDK's agent.
const LISTING: &str = "java.hprof.check.txt";

/// Reports what is wrong with the binary profile in `path`.
pub(super) fn check_file(path: &Path) {
    let verified = match File::open(path).map_err(|e| e.to_string()) {
        Ok(file) => verify(BufReader::new(file)).map_err(|e| e.to_string()),
        Err(error) => Err(error),
    };
    match verified {
        Ok(verified) => {
            for message in &verified.messages {
                report::error(&format!("{}: {message}", path.display()));
            }
            let archived = match verified.archived {
                0 => String::new(),
                number => format!(
                    " ({number} of them to class objects in the class data archive, which the VM \
                     leaves out)"
                ),
            };
            report::note(&format!(
                "checked {}: {} records, {} sub-records, {} references{archived}, {} faults",
                path.display(),
                verified.records,
                verified.sub_records,
                verified.references,
                verified.faults
            ));
        }
        Err(error) => report::error(&format!("cannot check {}: {error}", path.display())),
    }
}

/// Lists all records of the binary profile in `path`.
pub(super) fn list_file(path: &Path) {
    if let Err(error) = list(path) {
        report::error(&format!("cannot write the listing {LISTING}: {error}"));
    }
}

fn list(path: &Path) -> io::Result<()> {
    let mut reader = StreamReader::new(File::open(path)?).map_err(io::Error::other)?;
    let mut out = BufWriter::new(File::create(LISTING)?);
    while let Some(event) = reader.next() {
        match event {
            Ok(event) => writeln!(out, "{}", Listed::new(&event))?,
            Err(StreamError::Damage(damage)) => writeln!(out, "{damage}")?,
            Err(error) => return Err(io::Error::other(error)),
        }
    }
    out.flush()
}
