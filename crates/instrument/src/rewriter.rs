//! Rewriting one class.

use crate::bytes::{Put, Reader};
use crate::code::{COMPILE_LIMIT, ClassContext, CodeRewriter};
use crate::constant_pool::{ConstantPool, PoolBuffers};
use crate::error::{ClassSkip, Malformed, MethodSkip};
use crate::method::{ACC_NATIVE, Method, MethodInfo};
use crate::mutf8::Mutf8;
use crate::plan::{AllocationHooks, Hooks, MethodNumber, SelectMethod, Shape};
use crate::snippets::HookRefs;

/// The newest class-file version whose format was read for this crate, that of Java 28. Code of newer ones may have
/// attributes that hold addresses, so it may have none but those that are known. Code that uses preview features of its
/// release is held to the same rule. Instructions, constants and stack map frames are checked in classes of all versions.
pub const NEWEST_MAJOR: u16 = 72;

/// The minor version of classes that use preview features of their release (Java Virtual Machine Specification 4.1).
const PREVIEW_MINOR: u16 = 0xffff;

/// The version of a class file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Version {
    pub(crate) major: u16,
    minor: u16,
}

impl Version {
    /// Returns whether the format was read for this crate: all attributes that hold addresses of code are known.
    pub(crate) fn is_known(self) -> bool {
        self.major <= NEWEST_MAJOR && self.minor != PREVIEW_MINOR
    }
}

/// The number of methods of one class, by result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Methods that got hooks, in either shape.
    pub hooked: u32,
    /// The methods among them that are only counted.
    pub count_only: u32,
    /// Methods without code because they are native.
    pub natives: u32,
    /// Hooked methods that grew beyond 8,000 bytes of code, from where on HotSpot leaves methods
    /// to its interpreter (unless run with `-XX:-DontCompileHugeMethods`).
    pub no_longer_compiled: u32,
    /// Chosen methods that were left as they were.
    pub skipped: Vec<SkippedMethod>,
}

/// A method that was chosen but left as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedMethod {
    /// Its name.
    pub name: String,
    /// Its descriptor.
    pub descriptor: String,
    /// The number it had been given.
    pub number: MethodNumber,
    /// Why.
    pub reason: MethodSkip,
}

/// A class with hooks.
#[derive(Debug, PartialEq, Eq)]
pub struct Rewritten<'r> {
    /// The new class file.
    pub bytes: &'r [u8],
    /// The number of its methods, by result.
    pub tally: &'r Tally,
}

/// Inserts hooks into classes, one class at a time. Keeps its memory from class to class.
#[derive(Default)]
pub struct Rewriter {
    pool: PoolBuffers,
    code: CodeRewriter,
    body: Vec<u8>,
    out: Vec<u8>,
    tally: Tally,
    accepts_names: bool,
    allocations: Option<AllocationHooks<'static>>,
}

impl Rewriter {
    /// A rewriter that has no memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes classes that name the hook class, which are refused as [`ClassSkip::RefersToHooks`] otherwise. For classes
    /// that had hooks and got their own code back: since JDK 21 the VM keeps what was added to their constant pools.
    /// The caller knows that they have none now.
    #[must_use]
    pub fn accepting_names(mut self) -> Self {
        self.accepts_names = true;
        self
    }

    /// Has code call these methods of the hook class where [`Shape::Allocations`] is chosen.
    #[must_use]
    pub fn counting_allocations(mut self, hooks: AllocationHooks<'static>) -> Self {
        self.allocations = Some(hooks);
        self
    }

    /// Inserts calls of `hooks` into the methods of `class` that `select` chooses.
    ///
    /// # Errors
    ///
    /// The class is to be used with the bytes it came with; [`Self::tally`] still tells about
    /// its methods.
    pub fn rewrite(
        &mut self,
        class: &[u8],
        hooks: &Hooks<'_>,
        select: &mut impl SelectMethod,
    ) -> Result<Rewritten<'_>, ClassSkip> {
        self.tally.hooked = 0;
        self.tally.count_only = 0;
        self.tally.natives = 0;
        self.tally.no_longer_compiled = 0;
        self.tally.skipped.clear();
        self.body.clear();
        let version = check_header(class)?;
        let mut pool = ConstantPool::parse(class, 8, &mut self.pool)?;
        let start = pool.end();
        let mut reader = Reader::starting_at(class, start);
        reader.skip(2)?;
        let this_class = reader.u16()?;
        let unnamed = Malformed("name of the class");
        let name = pool.class_utf8(this_class).ok_or(unnamed)?;
        if !self.accepts_names && pool.names_class(hooks.class) {
            return Err(ClassSkip::RefersToHooks);
        }
        if name == b"jdk/internal/misc/Unsafe" {
            return Err(ClassSkip::UsedByHooks);
        }
        skip_supertypes_and_fields(&mut reader)?;
        let method_count = reader.u16()?;

        let allocations = self.allocations;
        let context = ClassContext {
            version,
            name,
            this_class,
            hooks,
            allocations: allocations.as_ref(),
        };
        let mut refs = HookRefs::default();
        // Everything up to here has been copied to the body.
        let mut copied = start;
        for _ in 0..method_count {
            let method = Method::parse(&mut reader, &pool)?;
            let Some((code, content_at)) = method.parse_code() else {
                self.tally.natives += u32::from(method.access_flags & ACC_NATIVE != 0);
                continue;
            };
            let Ok(code) = code else { continue };
            let chosen = select.select(&MethodInfo::new(name, &method, &code, &pool));
            let Some(hook) = chosen else { continue };

            self.body
                .extend_from_slice(class.get(copied..content_at).unwrap_or_default());
            copied = content_at;
            let at = self.body.len();
            let done = match method.reserved(name, &code) {
                Some(reason) if hook.shape != Shape::Allocations => Err(reason),
                _ => self.code.rewrite(
                    &context,
                    &method,
                    &code,
                    hook,
                    &mut refs,
                    &mut pool,
                    &mut self.body,
                ),
            };
            let new_len = match done {
                Ok(new_len) => new_len,
                Err(reason) => {
                    self.body.truncate(at);
                    self.tally.skipped.push(SkippedMethod {
                        name: Mutf8(method.name).to_string(),
                        descriptor: Mutf8(method.descriptor).to_string(),
                        number: hook.number,
                        reason,
                    });
                    continue;
                }
            };
            let content_len = self.body.len() - at;
            self.body.patch_u32(at - 4, content_len as u32);
            copied = content_at + method.code.map_or(0, |(content, _)| content.len());
            self.tally.hooked += 1;
            self.tally.count_only += u32::from(hook.shape == Shape::CountOnly);
            let outgrown = code.bytes.len() <= COMPILE_LIMIT && new_len > COMPILE_LIMIT;
            self.tally.no_longer_compiled += u32::from(outgrown);
        }
        if self.tally.hooked == 0 {
            return Err(ClassSkip::NothingHooked);
        }
        self.body
            .extend_from_slice(class.get(copied..).unwrap_or_default());
        assemble(class, &pool, &self.body, &mut self.out);
        Ok(Rewritten {
            bytes: &self.out,
            tally: &self.tally,
        })
    }

    /// The number of methods of the last class, by result.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }
}

/// Checks the magic number; returns the version.
pub(crate) fn check_header(class: &[u8]) -> Result<Version, ClassSkip> {
    let mut reader = Reader::new(class);
    if reader.u32()? != 0xcafe_babe {
        return Err(Malformed("no class file").into());
    }
    let minor = reader.u16()?;
    let major = reader.u16()?;
    Ok(Version { major, minor })
}

/// Skips the supertypes, whose super_class is next, and the fields.
pub(crate) fn skip_supertypes_and_fields(reader: &mut Reader<'_>) -> Result<(), Malformed> {
    reader.skip(2)?;
    let interfaces = usize::from(reader.u16()?);
    reader.skip(interfaces * 2)?;
    for _ in 0..reader.u16()? {
        reader.skip(6)?;
        for _ in 0..reader.u16()? {
            reader.skip(2)?;
            let len = reader.len32()?;
            reader.skip(len)?;
        }
    }
    Ok(())
}

/// Puts a class together: header and constants of `class`, the added constants, `body`.
pub(crate) fn assemble(class: &[u8], pool: &ConstantPool<'_>, body: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.reserve(pool.end() + pool.added().len() + body.len());
    out.extend_from_slice(&class[..8]);
    out.put_u16(pool.count());
    out.extend_from_slice(class.get(10..pool.end()).unwrap_or_default());
    out.extend_from_slice(pool.added());
    out.extend_from_slice(body);
}
