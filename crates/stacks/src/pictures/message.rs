//! Messages in the encoding of Protocol Buffers (<https://protobuf.dev/programming-guides/encoding/>), as the formats
//! of profiles need them: three of the encoding's wire types.

/// A message under construction.
#[derive(Debug, Default)]
pub struct Message(pub Vec<u8>);

impl Message {
    /// A message whose fields are bytes.
    pub fn of(fields: &[(u64, &[u8])]) -> Self {
        let mut message = Self::default();
        for (field, bytes) in fields {
            message.bytes(*field, bytes);
        }
        message
    }

    /// A number, without its field.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// A field of a number type. Zero is the default and need not be written.
    pub fn number(&mut self, field: u64, value: u64) {
        if value != 0 {
            self.varint(field << 3);
            self.varint(value);
        }
    }

    /// A field of eight bytes (`fixed64`). Zero is the default and need not be written.
    pub fn fixed(&mut self, field: u64, value: u64) {
        if value != 0 {
            self.varint(field << 3 | 1);
            self.0.extend_from_slice(&value.to_le_bytes());
        }
    }

    /// A field of bytes: a string or a message.
    pub fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// A packed field of numbers.
    pub fn numbers(&mut self, field: u64, values: &[u64]) {
        let mut packed = Self::default();
        for &value in values {
            packed.varint(value);
        }
        self.bytes(field, &packed.0);
    }

    /// A packed field of eight bytes each.
    pub fn fixed_numbers(&mut self, field: u64, values: &[u64]) {
        let packed: Vec<u8> = values.iter().flat_map(|it| it.to_le_bytes()).collect();
        self.bytes(field, &packed);
    }
}
