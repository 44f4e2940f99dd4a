//! The primitive types of Java.

/// A primitive type of Java.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Primitive {
    /// `boolean`, one byte in HotSpot's arrays and fields.
    Boolean,
    /// `char`, a UTF-16 unit.
    Char,
    /// `float`, four bytes.
    Float,
    /// `double`, eight bytes.
    Double,
    /// `byte`, signed.
    Byte,
    /// `short`, two bytes, signed.
    Short,
    /// `int`, four bytes, signed.
    Int,
    /// `long`, eight bytes, signed.
    Long,
}

impl Primitive {
    /// All primitive types.
    pub const ALL: [Self; 8] = [
        Self::Boolean,
        Self::Char,
        Self::Float,
        Self::Double,
        Self::Byte,
        Self::Short,
        Self::Int,
        Self::Long,
    ];

    /// The letter of this type in descriptors (Java Virtual Machine Specification, table 4.3-A).
    pub const fn descriptor(self) -> u8 {
        match self {
            Self::Boolean => b'Z',
            Self::Char => b'C',
            Self::Float => b'F',
            Self::Double => b'D',
            Self::Byte => b'B',
            Self::Short => b'S',
            Self::Int => b'I',
            Self::Long => b'J',
        }
    }

    /// The name in Java source.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::Char => "char",
            Self::Float => "float",
            Self::Double => "double",
            Self::Byte => "byte",
            Self::Short => "short",
            Self::Int => "int",
            Self::Long => "long",
        }
    }

    /// The type with this letter, `None` for `L`, `[`, `V` and letters that mean nothing.
    pub fn of_descriptor(descriptor: u8) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|primitive| primitive.descriptor() == descriptor)
    }

    /// The type that a whole descriptor names, if it names a primitive type.
    pub fn of_signature(signature: &str) -> Option<Self> {
        match signature.as_bytes() {
            &[descriptor] => Self::of_descriptor(descriptor),
            _ => None,
        }
    }

    /// The type with this name in Java source.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|primitive| primitive.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_names_are_those_of_the_specification() {
        let table = Primitive::ALL.map(|it| (char::from(it.descriptor()), it.name()));
        assert_eq!(
            table,
            [
                ('Z', "boolean"),
                ('C', "char"),
                ('F', "float"),
                ('D', "double"),
                ('B', "byte"),
                ('S', "short"),
                ('I', "int"),
                ('J', "long"),
            ]
        );
    }

    #[test]
    fn letters_and_names_lead_back_to_their_type() {
        for primitive in Primitive::ALL {
            let letter = char::from(primitive.descriptor()).to_string();
            assert_eq!(Primitive::of_signature(&letter), Some(primitive));
            assert_eq!(Primitive::of_name(primitive.name()), Some(primitive));
        }
        for other in [b'L', b'[', b'V', b'Q', 0] {
            assert_eq!(Primitive::of_descriptor(other), None);
        }
        assert_eq!(Primitive::of_signature("II"), None);
        assert_eq!(Primitive::of_signature(""), None);
        assert_eq!(Primitive::of_name("Object"), None);
    }
}
