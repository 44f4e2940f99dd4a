//! The shape of a class's instances, from its class dump.

use hprof_format::binary::{BasicType, ClassDump};
use hprof_format::ids::{ObjectId, StringId};

/// A class as its dump describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassShape {
    /// The class above it, null for `java.lang.Object`.
    pub super_class: ObjectId,
    /// The loader, null for the boot loader.
    pub loader: ObjectId,
    /// The size in bytes that the file states: of the values, or on Android of the object.
    pub instance_size: u32,
    /// The fields that the class itself declares, in the order of their values.
    pub fields: Box<[(StringId, BasicType)]>,
}

impl ClassShape {
    /// Takes over what matters of a class dump.
    pub fn new(dump: &ClassDump<'_>) -> Self {
        Self {
            super_class: dump.super_class,
            loader: dump.loader,
            instance_size: dump.instance_size,
            fields: dump
                .fields
                .iter()
                .map(|field| (field.name, field.basic_type))
                .collect(),
        }
    }
}
