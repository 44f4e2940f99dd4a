//! The file of one stream.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use hprof_format::splitter::Cut;
use tempfile::NamedTempFile;

use super::follow::{Follower, Kind, Note};

/// A file that grows under a temporary name.
#[derive(Debug)]
pub struct Saved {
    file: NamedTempFile,
    folder: PathBuf,
}

impl Saved {
    /// A new file. It is for its user alone: profiles hold what programs hold.
    ///
    /// # Errors
    /// Errors of the folder.
    pub fn create(folder: &Path, number: u32) -> io::Result<Self> {
        let file = tempfile::Builder::new()
            .prefix(&format!("agent-{number}-"))
            .suffix(".part")
            .tempfile_in(folder)?;
        Ok(Self {
            file,
            folder: folder.to_owned(),
        })
    }

    /// Where it lies until it is finished.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Appends.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    /// Makes it whole and gives it its name: `NAME.hprof` or `NAME.hprof.txt`, with `.cut` in it if
    /// something is missing, and with a number if there is a file of that name.
    ///
    /// # Errors
    /// Errors of the disk; the file then stays under its temporary name.
    pub fn finish(
        mut self,
        name: &str,
        kind: Kind,
        cut: Option<&Cut>,
        is_cut: bool,
    ) -> io::Result<PathBuf> {
        if let Err(error) = self.mend(kind, cut, is_cut) {
            let path = self.file.path().to_owned();
            let _ = self.file.keep();
            return Err(io::Error::new(
                error.kind(),
                format!("{}: {error}", path.display()),
            ));
        }
        let ending = match kind {
            Kind::Binary(_) => "hprof",
            Kind::Text => "hprof.txt",
        };
        let mark = if is_cut { ".cut" } else { "" };
        for number in 1_u32.. {
            let again = if number > 1 {
                format!("-{number}")
            } else {
                String::new()
            };
            let path = self.folder.join(format!("{name}{again}{mark}.{ending}"));
            match self.file.persist_noclobber(&path) {
                Ok(_) => return Ok(path),
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                    self.file = error.file;
                }
                Err(error) => {
                    let _ = error.file.keep();
                    return Err(error.error);
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn mend(&mut self, kind: Kind, cut: Option<&Cut>, is_cut: bool) -> io::Result<()> {
        let file = self.file.as_file_mut();
        if let Some(cut) = cut {
            file.set_len(cut.keep)?;
            if let Some(patch) = cut.patch {
                file.seek(SeekFrom::Start(patch.at))?;
                file.write_all(&patch.length.to_be_bytes())?;
            }
            file.seek(SeekFrom::End(0))?;
            file.write_all(&cut.append)?;
        }
        if is_cut && kind == Kind::Text {
            file.seek(SeekFrom::End(0))?;
            file.write_all(b"# hprof-rs: cut off here: the connection to the agent ended early\n")?;
        }
        Ok(())
    }
}

/// Copies what has come of a stream that continues, as a whole file.
///
/// # Errors
/// Errors of the disk, or that nothing has come yet.
pub fn copy(stream: &mut impl Read, folder: &Path, number: u32, name: &str) -> io::Result<PathBuf> {
    let mut copy = Saved::create(folder, number)?;
    let (mut follower, mut kind) = (Follower::new(), None);
    let mut buffer = vec![0; 1 << 20];
    loop {
        let some = match stream.read(&mut buffer)? {
            0 => break,
            length => &buffer[..length],
        };
        copy.write(some)?;
        let pushed = follower.push(some, &mut |note| {
            if let Note::Kind(found) = note {
                kind = Some(found);
            }
        });
        pushed.map_err(|_| io::Error::other("it is no HPROF profile"))?;
    }
    let kind = kind.ok_or_else(|| io::Error::other("nothing has come yet"))?;
    copy.finish(name, kind, follower.end().as_ref(), false)
}

/// A name for files from what a stranger says: letters, digits, `.`, `_` and `-` only.
pub fn file_name(main: &str, pid: Option<u32>, number: u32) -> String {
    let class = main.rsplit('/').next().unwrap_or(main);
    let class = class.strip_suffix(".jar").unwrap_or(class);
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '$');
    let name: String = class
        .chars()
        .map(|c| if good(c) { c } else { '_' })
        .take(80)
        .collect();
    // No hidden files, and nothing that a command takes for an option.
    let name = name.trim_start_matches(['.', '-']);
    let name = if name.is_empty() { "agent" } else { name };
    match pid {
        Some(pid) => format!("{name}-{pid}"),
        None => format!("{name}-{number}"),
    }
}

/// Checks that files can be made in a folder, and makes it if it is not there.
///
/// # Errors
/// Errors of the folder.
pub fn prepare(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    tempfile::tempfile_in(folder).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hprof_format::binary::IdSize;
    use proptest::prelude::*;

    #[test]
    fn names_do_not_clash_and_say_what_was_cut() {
        let dir = tempfile::tempdir().unwrap();
        let binary = Kind::Binary(IdSize::Eight);
        let finish = |kind, cut: Option<&Cut>| {
            let mut saved = Saved::create(dir.path(), 1).unwrap();
            saved.write(b"0123456789").unwrap();
            let path = saved.finish("App-7", kind, cut, cut.is_some()).unwrap();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read(path).unwrap())
        };
        let cut = Cut {
            keep: 8,
            patch: Some(hprof_format::splitter::Patch {
                at: 2,
                length: 0x4142_4344,
            }),
            append: b"end".to_vec(),
        };
        assert_eq!(finish(binary, None).0, "App-7.hprof");
        assert_eq!(finish(binary, None).0, "App-7-2.hprof");
        let (name, bytes) = finish(binary, Some(&cut));
        assert_eq!(
            (name.as_str(), &bytes[..]),
            ("App-7.cut.hprof", &b"01ABCD67end"[..])
        );
        assert_eq!(finish(Kind::Text, None).0, "App-7.hprof.txt");
        let (_, text) = finish(Kind::Text, Some(&cut));
        assert!(text.ends_with(b"early\n"));
        assert_eq!(
            fs::read_dir(dir.path()).unwrap().count(),
            5,
            "no temporary files"
        );
    }

    #[test]
    fn names_are_made_of_what_the_agent_says() {
        assert_eq!(file_name("com.acme.App", Some(7), 1), "com.acme.App-7");
        assert_eq!(file_name("/opt/x/app.jar", None, 3), "app-3");
        assert_eq!(file_name("", None, 3), "agent-3");
        assert_eq!(file_name("../../etc/passwd", Some(1), 3), "passwd-1");
    }

    proptest! {
        #[test]
        fn no_name_leaves_the_folder(main in ".{0,200}") {
            let name = file_name(&main, None, 1);
            prop_assert!(!name.contains('/') && !name.starts_with(['.', '-']));
            prop_assert!(!name.contains(char::is_control) && name.len() < 100);
        }
    }
}
