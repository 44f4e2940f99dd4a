//! Decompresses zstd files of any number of frames (RFC 8878).

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// All frames, one after the other.
pub struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    is_in_frame: bool,
}

impl<R: BufRead> Frames<R> {
    /// Reads what `source` holds.
    pub fn new(source: R) -> Self {
        Self {
            source,
            decoder: FrameDecoder::new(),
            is_in_frame: false,
        }
    }

    /// Goes to the next frame with data; false if there is none.
    fn next_frame(&mut self) -> io::Result<bool> {
        use FrameDecoderError::ReadFrameHeaderError as Header;
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(Header(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let mut skipped = self.source.by_ref().take(length.into());
                    io::copy(&mut skipped, &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.is_in_frame && !self.next_frame()? {
                return Ok(0);
            }
            self.is_in_frame = true;
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                if self.source.fill_buf()?.is_empty() {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                self.decoder
                    .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(io::Error::other)?;
            }
            let count = self.decoder.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let (said, found) = (
                self.decoder.get_checksum_from_data(),
                self.decoder.get_calculated_checksum(),
            );
            if said.is_some() && said != found {
                return Err(io::Error::other("the checksum of the zstd frame is wrong"));
            }
            self.is_in_frame = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut found = Vec::new();
        Frames::new(bytes).read_to_end(&mut found)?;
        Ok(found)
    }

    #[test]
    fn frames_follow_each_other_and_some_are_skipped() {
        let compress = |bytes: &[u8]| compress_to_vec(bytes, CompressionLevel::Fastest);
        let long: Vec<u8> = (0..500_000u32).map(|i| (i / 7 % 250) as u8).collect();
        let mut file = compress(b"one, ");
        file.extend_from_slice(&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9]);
        file.extend_from_slice(&compress(&long));
        assert_eq!(read(&file).unwrap(), [b"one, ", &long[..]].concat());
        assert!(read(b"").unwrap().is_empty());
        assert!(read(&file[..file.len() - 5]).is_err());
        assert!(read(&[0x28, 0xb5, 0x2f, 0xfd, 0]).is_err());
    }
}
