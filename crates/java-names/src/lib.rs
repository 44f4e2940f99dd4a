//! Names as the JVM spells them (Java Virtual Machine Specification, 4.2 to 4.4).
//!
//! * [`mutf8`] encodes and decodes modified UTF-8;
//! * [`source_form`] turns class names of all spellings into those of Java source;
//! * [`Primitive`] is the table of primitive types: descriptors and names in Java source.
//!
//! Class files, the VM's own strings and HPROF files share these forms, so every crate that meets one of
//! the three stands above this one.

mod class_name;
pub mod mutf8;
mod primitive;

pub use class_name::source_form;
pub use primitive::Primitive;
