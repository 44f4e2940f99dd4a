//! The kinds of frames, by their names.

/// The kind of a frame, which selects its hue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A method of the program or its libraries: orange.
    Program,
    /// A method of the JDK: green.
    Jdk,
    /// A class of objects, no method: blue.
    #[cfg_attr(not(feature = "svg"), allow(dead_code))]
    Class,
    /// Frames that are no method: grey.
    Other,
    /// A function of native code: rose.
    Native,
    /// A function of the kernel: violet.
    Kernel,
}

/// How the agent's frames of native code begin.
pub(crate) const NATIVE: &str = "[native] ";
/// How the agent's frames of the kernel begin.
pub(crate) const KERNEL: &str = "[kernel] ";
/// How async-profiler's frames of the kernel end, in formats without a place for their kind.
const KERNEL_END: &str = "_[k]";
const JDK: [&str; 6] = ["java.", "javax.", "jdk.", "sun.", "com.sun.", "oracle."];

/// The kind of a method, by its name.
pub fn kind_of(name: &str) -> Kind {
    if name.starts_with(KERNEL) || name.ends_with(KERNEL_END) {
        return Kind::Kernel;
    }
    // Other tools name functions of C++ alone; Java has no name like that.
    if name.starts_with(NATIVE) || name.contains("::") {
        Kind::Native
    } else if name.starts_with(['<', '[']) {
        Kind::Other
    } else if JDK.iter().any(|prefix| name.starts_with(prefix)) {
        Kind::Jdk
    } else {
        Kind::Program
    }
}
