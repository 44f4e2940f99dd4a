//! The files of an archive, one after the other: zip, and tar in any compression.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;

use zip::ZipArchive;

use super::compression::{Compression, decompress};
use super::{map, tar};

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
        compression => {
            let archive = decompress(compression, Cursor::new(map));
            tar::walk(archive, &mut |member, contents| {
                each(&member.name, contents)
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

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
        let archive = tar::tests::archive(&[("logs/b", &large), ("logs/a", b"hello")]);
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
