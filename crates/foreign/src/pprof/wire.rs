//! The encoding of Protocol Buffers, as far as profiles use it
//! (<https://protobuf.dev/programming-guides/encoding/>).

/// A value of a field.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message; the error is the place where it is damaged.
pub(crate) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for index in 0..10 {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            value |= u64::from(byte & 0x7f).checked_shl(7 * index)?;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let end = self.at.checked_add(usize::try_from(length).ok()?)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn field(&mut self) -> Option<(u64, Value<'a>)> {
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Number(self.varint()?),
            1 => Value::Bytes(self.take(8)?),
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.take(length)?)
            }
            5 => Value::Bytes(self.take(4)?),
            _ => return None,
        };
        Some((key >> 3, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), usize>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.at;
        if start >= self.bytes.len() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.at = self.bytes.len();
        }
        Some(field.ok_or(start))
    }
}

/// The whole fields of a message inside of another.
pub(crate) fn whole(bytes: &[u8]) -> impl Iterator<Item = (u64, Value<'_>)> {
    Fields::of(bytes).map_while(Result::ok)
}

/// Adds the numbers of a repeated field, packed or not.
pub(crate) fn numbers(value: Value<'_>, all: &mut Vec<u64>) {
    match value {
        Value::Number(number) => all.push(number),
        Value::Bytes(bytes) => {
            let mut packed = Fields::of(bytes);
            while let Some(number) = packed.varint() {
                all.push(number);
            }
        }
    }
}

/// The numbers of a message by field; those of fields that come twice are the last.
pub(crate) fn fixed<const N: usize>(bytes: &[u8]) -> [u64; N] {
    let mut found = [0; N];
    for (field, value) in whole(bytes) {
        let place = usize::try_from(field).ok().and_then(|at| found.get_mut(at));
        if let (Some(place), Value::Number(number)) = (place, value) {
            *place = number;
        }
    }
    found
}
