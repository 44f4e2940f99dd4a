//! Descriptions of calls for the format of `cpu=old`.

/// A method with its signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedMethod<'a> {
    /// The class, as Java source has it.
    pub class_name: &'a str,
    /// The plain method name.
    pub method: &'a str,
    /// The method's descriptor (JVM specification 4.3.3).
    pub signature: &'a str,
}

/// Calls of one method from one other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OldCpuRow<'a> {
    /// The number of calls.
    pub count: u64,
    /// The method that was called, if known.
    pub callee: Option<SignedMethod<'a>>,
    /// The method that called it, if known.
    pub caller: Option<SignedMethod<'a>>,
    /// Nanoseconds in the callee, what it called included.
    pub nanos: u64,
}
