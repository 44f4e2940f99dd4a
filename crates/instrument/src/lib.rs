//! Class-file rewriting for exact method counts: bytes to bytes, without a JVM.
//!
//! [`Rewriter::rewrite`] takes a class file and inserts static calls into the methods that the
//! caller chooses:
//!
//! ```text
//! enter(number) -> long    first, and the long is kept in a new local above all others
//! exit(long)               before every return
//! repair(long, number)     first in every exception handler the method has
//! ```
//!
//! or, for methods that call nothing ([`MethodInfo::is_leaf`]), only `count(number)` first. The
//! frames an exception unwinds run no `exit`; `repair` in the handler where it ends says which
//! method is running now. So no method needs a handler that catches everything, and constructors,
//! where such a handler may not cover the call of `super()`, need nothing special.
//!
//! ```
//! use hprof_instrument::{Hooks, MethodHook, MethodInfo, MethodNumber, Rewriter, Shape};
//!
//! # fn example(class_file: &[u8]) {
//! let hooks = Hooks {
//!     class: b"java/lang/Hooks",
//!     enter: b"enter",
//!     exit: b"exit",
//!     repair: b"repair",
//!     count: b"count",
//! };
//! let mut methods = Vec::new();
//! let mut rewriter = Rewriter::new();
//! let outcome = rewriter.rewrite(class_file, &hooks, &mut |method: &MethodInfo<'_>| {
//!     let number = MethodNumber(methods.len() as u32);
//!     methods.push(format!("{}.{}", method.class, method.name));
//!     let shape = if method.is_leaf() { Shape::CountOnly } else { Shape::Full };
//!     Some(MethodHook { number, shape })
//! });
//! match outcome {
//!     Ok(done) => println!("{} methods, {} bytes", done.tally.hooked, done.bytes.len()),
//!     Err(reason) => println!("left as it was: {reason}"),
//! }
//! # }
//! # example(&[]);
//! ```
//!
//! # What is kept
//!
//! A class is copied byte for byte but for its chosen methods. Constants are only appended, so all
//! references stay valid. In a chosen method, branches, switches, the exception table, stack maps,
//! line numbers, the tables of local variables and type annotations follow the code to its new
//! addresses; other attributes of the code are copied as they are. (An obsolete one with code
//! addresses, `CharacterRangeTable` of `javac -Xjcov`, then has old ones. No VM reads it.)
//! Addresses move so:
//!
//! - The prologue is before everything; a branch back to the first instruction goes after it,
//!   so that `enter` runs once. The prologue belongs to the first line.
//! - A branch or a handler to an instruction with hooks before it goes to the hooks. Control that
//!   reaches the start of a handler without an exception runs `repair` too, to no effect.
//! - A branch that became too long becomes a `goto_w`; a conditional one takes the way over a
//!   `goto_w` that is put where control never comes by itself.
//!
//! A hook can throw a StackOverflowError. In `enter` that is as if the call had failed. In `exit`
//! it takes the place of the return. An exception of `repair` is caught again where the handler
//! could catch it, and the handler's own code continues with it: javac's handlers that release a
//! monitor are in their own exception range, and would call `repair` for ever.
//!
//! # What is not done
//!
//! Native and abstract methods have no code; natives are counted in [`Tally::natives`]. A class or
//! method this crate does not understand, or whose limits do not allow hooks, is left as it was,
//! for a reason: [`ClassSkip`], [`MethodSkip`]. No input makes it fail otherwise. Which of the
//! methods it could rewrite should not be is up to the caller, but for [`MethodSkip::Reserved`],
//! [`MethodSkip::EmptyFinalizer`], [`ClassSkip::UsedByHooks`] and [`ClassSkip::RefersToHooks`].
//!
//! # Why not one of the class-file crates
//!
//! `noak`, `cafebabe`, `ristretto_classfile` and `rust-asm` were looked at. `cafebabe` only reads.
//! The others build a model of the class and write a new one from it: their writers make the
//! constant pool, the instructions and the attributes again, refuse or lose attributes they do not
//! know, and leave moving stack maps, annotations and tables to the caller, which is most of the
//! work here. Copying what does not change is faster than any model can be (the 26,700 classes of
//! a JDK 17, 206,000 methods, take 0.2 s on one core), cannot lose anything, and knows the format
//! only where it has to: no names, descriptors, signatures or annotations are decoded for classes
//! that pass through. `noak`'s reader checks the results in the tests.

mod allocations;
mod annotations;
mod bytes;
mod code;
mod constant_pool;
mod error;
mod fields;
mod frames;
mod layout;
mod method;
mod mutf8;
mod opcode;
mod plan;
mod rewriter;
mod snippets;
mod source_file;
mod uses;
mod writes;

pub use error::{ClassSkip, Malformed, MethodSkip};
pub use fields::{NewField, add_fields};
pub use method::MethodInfo;
pub use mutf8::Mutf8;
pub use plan::{AllocationHooks, Hooks, MethodHook, MethodNumber, SelectMethod, Shape};
pub use rewriter::{NEWEST_MAJOR, Rewriter, Rewritten, SkippedMethod, Tally};
pub use source_file::source_file;
pub use uses::{Call, Constants, Use};
pub use writes::{Member, call_for_calls, call_for_writes};
