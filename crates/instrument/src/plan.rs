//! The decisions of the caller: the hooks, which methods get them, and in which shape.

use crate::method::MethodInfo;

/// Number of a method, the argument of its hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MethodNumber(pub u32);

/// The class with the static methods that rewritten code calls. All names are internal ones in
/// modified UTF-8 (`java/lang/Thread`); plain ASCII is its own encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hooks<'a> {
    /// The class; rewritten classes must be able to see it, those of `java.base` too.
    pub class: &'a [u8],
    /// `static long enter(int method)`: called first; what it returns is handed to the others.
    pub enter: &'a [u8],
    /// `static void exit(long entered)`: called before every return.
    pub exit: &'a [u8],
    /// `static void repair(long entered, int method)`: called first in every exception handler
    /// of the method, since the frames that an exception unwound had no `exit`.
    pub repair: &'a [u8],
    /// `static void count(int method)`: the one call of [`Shape::CountOnly`].
    pub count: &'a [u8],
}

/// The static methods that code calls with each object it has made, for [`Shape::Allocations`]. They take an `Object` and
/// return nothing. The class is that of [`Hooks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllocationHooks<'a> {
    /// Called in the constructor of `Object`, after instructions that make arrays, and after calls of `clone` of an array.
    pub made: &'a [u8],
    /// Called with an array that was made with the arrays in it.
    pub nested: &'a [u8],
    /// Called after `java.lang.reflect.Array` has made an array, or `Object.clone` an object.
    pub reflected: &'a [u8],
    /// Called after calls of `Arrays.copyOf` and `copyOfRange` for objects, which the compilers replace by code of their own or
    /// which call the former, and after calls of `clone` that may be those of `Object` or call them.
    pub copied: &'a [u8],
}

/// The code that is inserted into a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `enter` at the start, `exit` at every return, `repair` in every exception handler.
    Full,
    /// `enter` at the start, and `exit` at every return and where an exception leaves the method. An exception that a handler of
    /// the method catches is no end of the call, and no `repair` is called. Constructors cannot have it: no handler may cover
    /// the call of `super()`.
    Around,
    /// Only `count` at the start: for methods that call nothing, see [`MethodInfo::is_leaf`].
    CountOnly,
    /// A call with each object that the method makes, and with each that the constructor of `Object` gets: for methods that
    /// [`MethodInfo::allocates`]. The rewriter needs [`AllocationHooks`].
    Allocations,
}

/// The answer for one method that gets hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodHook {
    /// Its number.
    pub number: MethodNumber,
    /// The inserted code.
    pub shape: Shape,
}

/// Chooses the methods that get hooks.
///
/// Asked once for each method with code, in the order of the class file. A number given out for a
/// method that then has to be skipped is named in [`SkippedMethod`](crate::SkippedMethod).
pub trait SelectMethod {
    /// The number and shape for `method`, or `None` to leave it as it is.
    fn select(&mut self, method: &MethodInfo<'_>) -> Option<MethodHook>;
}

impl<F: FnMut(&MethodInfo<'_>) -> Option<MethodHook>> SelectMethod for F {
    fn select(&mut self, method: &MethodInfo<'_>) -> Option<MethodHook> {
        self(method)
    }
}
