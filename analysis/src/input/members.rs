//! The files of an archive, one after the other: zip, and tar in any compression.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;

use zip::ZipArchive;

use super::compression::{Compression, decompress};
use super::map;

/// A block of a tar archive, in bytes. A file begins with one and fills whole ones (POSIX.1-2017, pax, "ustar
/// Interchange Format").
const BLOCK: usize = 512;
/// The longest name of a GNU header that is read, in bytes.
const MAX_NAME: u64 = 4096;

/// Takes the name of a file and its bytes; false ends the walk.
pub type Each<'a> = dyn FnMut(&str, &mut dyn Read) -> io::Result<bool> + 'a;

/// Hands each regular file of an archive to `each`, in their order; false if the file is no archive.
///
/// # Errors
/// If the archive cannot be read or is damaged, or those of `each`.
pub fn members(path: &Path, each: &mut Each<'_>) -> io::Result<bool> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() || file.metadata()?.len() == 0 {
        return Ok(false);
    }
    let map = map(&file)?;
    match Compression::of(&map) {
        Compression::Zip => {
            let mut archive = ZipArchive::new(Cursor::new(map)).map_err(io::Error::other)?;
            for index in 0..archive.len() {
                let mut file = archive.by_index(index).map_err(io::Error::other)?;
                let Ok(name) = file.name().map(|name| name.into_owned()) else {
                    continue;
                };
                if file.is_file() && !each(&name, &mut file)? {
                    break;
                }
            }
            Ok(true)
        }
        compression => walk_tar(&mut decompress(compression, Cursor::new(map)), each),
    }
}

/// The head of a file in a tar archive.
struct Head {
    name: String,
    length: u64,
    kind: u8,
}

impl Head {
    /// Reads a block; none if it is no head.
    fn of(block: &[u8; BLOCK]) -> Option<Self> {
        if &block[257..262] != b"ustar" {
            return None;
        }
        let text = |from: usize, to: usize| {
            let field = &block[from..to];
            let end = field.iter().position(|byte| *byte == 0);
            String::from_utf8_lossy(&field[..end.unwrap_or(field.len())]).into_owned()
        };
        // Larger files than 8 GB have another form of number, and are no logs.
        let length = u64::from_str_radix(text(124, 136).trim(), 8).ok()?;
        let prefix = match block[262] {
            0 => text(345, 500),
            _ => String::new(),
        };
        let name = match &*prefix {
            "" => text(0, 100),
            prefix => format!("{prefix}/{}", text(0, 100)),
        };
        Some(Self {
            name,
            length,
            kind: block[156],
        })
    }
}

fn walk_tar(archive: &mut dyn Read, each: &mut Each<'_>) -> io::Result<bool> {
    let mut long_name = None;
    let mut is_tar = false;
    loop {
        let mut block = [0; BLOCK];
        match archive.read_exact(&mut block) {
            Err(_) if !is_tar => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(true),
            other => other?,
        }
        let Some(head) = Head::of(&block) else {
            // Empty blocks end it.
            return match is_tar && block.iter().any(|byte| *byte != 0) {
                true => Err(io::ErrorKind::InvalidData.into()),
                false => Ok(is_tar),
            };
        };
        is_tar = true;
        let mut contents = archive.take(head.length);
        match head.kind {
            b'L' => {
                let mut name = Vec::new();
                contents.by_ref().take(MAX_NAME).read_to_end(&mut name)?;
                let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
                long_name = Some(String::from_utf8_lossy(name).into_owned());
            }
            b'0' | 0 => {
                let name = long_name.take().unwrap_or(head.name);
                if !each(&name, &mut contents)? {
                    return Ok(true);
                }
            }
            _ => {}
        }
        io::copy(&mut contents, &mut io::sink())?;
        let over = head.length % BLOCK as u64;
        if over > 0 {
            io::copy(&mut archive.take(BLOCK as u64 - over), &mut io::sink())?;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = Vec::new();
        for (name, contents) in files {
            let mut block = [0; BLOCK];
            block[..name.len()].copy_from_slice(name.as_bytes());
            block[124..135].copy_from_slice(format!("{:011o}", contents.len()).as_bytes());
            block[156] = if name.ends_with('/') { b'5' } else { b'0' };
            block[257..263].copy_from_slice(b"ustar\0");
            archive.extend(block);
            archive.extend(*contents);
            archive.resize(archive.len().next_multiple_of(BLOCK), 0);
        }
        archive.extend([0; 2 * BLOCK]);
        archive
    }

    fn read(path: &Path) -> io::Result<(bool, Vec<(String, usize)>)> {
        let mut found = Vec::new();
        let is_archive = members(path, &mut |name, contents| {
            let mut bytes = Vec::new();
            contents.read_to_end(&mut bytes)?;
            found.push((name.to_owned(), bytes.len()));
            Ok(true)
        })?;
        Ok((is_archive, found))
    }

    #[test]
    fn files_of_archives_come_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let large = vec![b'x'; 70_000];
        let archive = tar(&[("logs/", b""), ("logs/b", &large), ("logs/a", b"hello")]);
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&archive).unwrap();
        let path = folder.path().join("archive");
        let expected = [("logs/b".to_owned(), 70_000), ("logs/a".to_owned(), 5)];
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, contents) in [("logs/b", &large[..]), ("logs/a", b"hello")] {
            let options = zip::write::SimpleFileOptions::default();
            zip.start_file(name, options).unwrap();
            zip.write_all(contents).unwrap();
        }
        let zip = zip.finish().unwrap().into_inner();
        for bytes in [archive.clone(), packed.finish().unwrap(), zip] {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(read(&path).unwrap(), (true, expected.to_vec()));
        }
        for other in [&b"hello"[..], &[0; 2000], &large] {
            std::fs::write(&path, other).unwrap();
            assert_eq!(read(&path).unwrap(), (false, Vec::new()));
        }
        // Damage and hostile lengths end.
        for at in [0, 124, 300, 512 * 3, archive.len() / 2] {
            let mut damaged = archive.clone();
            damaged[at] ^= 0x55;
            damaged.truncate(archive.len() - 700);
            std::fs::write(&path, damaged).unwrap();
            let _ = read(&path);
        }
    }
}
