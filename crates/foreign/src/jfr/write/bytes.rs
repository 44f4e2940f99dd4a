//! The encodings of a chunk.

/// Bytes under construction.
#[derive(Debug, Default)]
pub(super) struct Bytes(pub(super) Vec<u8>);

impl Bytes {
    pub(super) fn number(&mut self, mut value: u64) {
        for _ in 0..8 {
            if value < 0x80 {
                self.0.push(value as u8);
                return;
            }
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// A string in UTF-8.
    pub(super) fn text(&mut self, text: &str) {
        self.0.push(3);
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    /// An event of a type, whose size comes first and counts itself.
    pub(super) fn event(&mut self, type_id: u64, body: &Bytes) {
        let mut head = Bytes::default();
        head.number(type_id);
        let rest = head.0.len() + body.0.len();
        let mut size = rest as u64;
        loop {
            let mut encoded = Bytes::default();
            encoded.number(size);
            let whole = (rest + encoded.0.len()) as u64;
            if whole == size {
                self.0.extend_from_slice(&encoded.0);
                break;
            }
            size = whole;
        }
        self.0.extend_from_slice(&head.0);
        self.0.extend_from_slice(&body.0);
    }
}
