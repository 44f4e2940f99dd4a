//! Compressed files that are damaged: they are read up to the damage.

use std::io::{self, ErrorKind, Read};

use hprof_stacks::pictures::numbers::count;

use super::Compression;

/// The unpacked bytes of a file. Whatever stops the decoder becomes [`ErrorKind::UnexpectedEof`] with a message
/// that says so: what came before can be read.
pub struct Unpacked<R> {
    inner: R,
    compression: Compression,
    bytes: u64,
}

impl<R> Unpacked<R> {
    /// Wraps what a decoder gives.
    pub fn new(inner: R, compression: Compression) -> Self {
        Self {
            inner,
            compression,
            bytes: 0,
        }
    }

    fn explained(&self, error: &io::Error) -> io::Error {
        let after = match self.bytes {
            0 => "at its start".to_owned(),
            1 => "after 1 byte of its contents".to_owned(),
            bytes => format!("after {} bytes of its contents", count(bytes)),
        };
        let message = match error.kind() {
            ErrorKind::UnexpectedEof => format!("the compressed file is cut short {after}"),
            _ => format!(
                "the compressed file is damaged {after} ({}: {error})",
                self.compression.name()
            ),
        };
        io::Error::new(ErrorKind::UnexpectedEof, message)
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.inner.read(buffer) {
            Ok(length) => {
                self.bytes += length as u64;
                Ok(length)
            }
            // The system or the machine is to blame for these.
            Err(error)
                if error.raw_os_error().is_some()
                    || matches!(
                        error.kind(),
                        ErrorKind::Interrupted | ErrorKind::OutOfMemory
                    ) =>
            {
                Err(error)
            }
            Err(error) => Err(self.explained(&error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Ending(&'static [u8], Option<io::Error>);

    impl Read for Ending {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => self.1.take().map_or(Ok(0), Err),
                length => Ok(length),
            }
        }
    }

    fn end(bytes: &'static [u8], error: io::Error) -> (usize, io::Error) {
        let mut found = Vec::new();
        let decoder = Ending(bytes, Some(error));
        let result = Unpacked::new(decoder, Compression::Gzip).read_to_end(&mut found);
        (found.len(), result.unwrap_err())
    }

    #[test]
    fn all_errors_of_a_decoder_are_damage_behind_the_bytes_before_it() {
        let corrupt = io::Error::new(ErrorKind::InvalidInput, "corrupt deflate stream");
        let (length, error) = end(&[7; 1234], corrupt);
        assert_eq!((length, error.kind()), (1234, ErrorKind::UnexpectedEof));
        assert_eq!(
            error.to_string(),
            "the compressed file is damaged after 1,234 bytes of its contents (gzip: corrupt \
             deflate stream)"
        );
        let (_, error) = end(b"a", ErrorKind::UnexpectedEof.into());
        assert_eq!(
            error.to_string(),
            "the compressed file is cut short after 1 byte of its contents"
        );
    }

    #[test]
    fn what_the_system_refuses_is_no_damage() {
        let (_, error) = end(b"a", io::Error::from_raw_os_error(5));
        assert_eq!(error.raw_os_error(), Some(5));
    }
}
