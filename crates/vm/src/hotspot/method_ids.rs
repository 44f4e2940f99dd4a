//! Which ids of methods the VM may be asked about.
//!
//! A class that is redefined keeps the ids of its methods. Its old methods, obsolete now, get ids of their own when a
//! stack is taken that still has them. The VM frees obsolete methods once no thread has them on its stack, but not these
//! ids, and it crashes when it is asked about one of them later (JDK-8313816). It even gives another obsolete method an id
//! that belonged to a freed one, so it may crash when it is asked about a stack that it has just given.
//!
//! So the way from the id to its method and back is gone here first, with loads that cannot fault:
//!
//! ```text
//! id ─► Method ─► ConstMethod ─► ConstantPool ─► InstanceKlass ─► ids │ length │ id 0 │ id 1 │ ...
//!                    └ number of the method ──────────────────────────────────►│
//! ```
//!
//! Obsolete methods have numbers beyond those of the class's methods (`check_methods_and_mark_as_obsolete`). The id of a
//! current method is that of its successors later, and empty when the class is unloaded, unless a redefinition leaves the method
//! out, as JDK 11 allows for private ones: so a caller checks right before it asks the VM.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hprof_walker::layout::MethodLayout;

use super::guarded::{self, Copier, Plain};
use super::walk_layout;
use crate::{JMethodId, Jni, Jvmti, StackFrame, StackKeys, Vm, VmLibrary, VmStructs};

/// The VM's layout of methods.
struct MethodIds {
    layout: MethodLayout,
}

/// The method that an id was given for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// A method that its class has.
    Current,
    /// One that its class had, and which is there yet.
    Obsolete,
    /// None any more, as the VM can tell: the class was unloaded.
    Unloaded,
    /// An obsolete one that was freed: the VM would crash.
    Freed,
}

/// True once the VM has freed obsolete methods whose ids were seen. Before, it is asked about those of other threads
/// right after they were looked at; in programs where classes are redefined again and again, it would free some in
/// between.
static FREED: AtomicBool = AtomicBool::new(false);

/// How many current methods are remembered.
const KNOWN: usize = 1 << 13;
/// Ids that once were those of current methods. At the place that its bits say each.
static CURRENT: [AtomicUsize; KNOWN] = [const { AtomicUsize::new(0) }; KNOWN];

fn word(id: JMethodId) -> usize {
    id.as_word() as usize
}

/// Where an id is remembered.
fn place(id: JMethodId) -> &'static AtomicUsize {
    &CURRENT[word(id) / size_of::<usize>() % KNOWN]
}

fn is_address(word: usize) -> bool {
    word != 0 && word.is_multiple_of(size_of::<usize>())
}

/// Reads the VM's memory.
enum Reader {
    /// Reads memory that the current thread keeps alive, mostly.
    Own,
    /// Reads memory that the VM may free meanwhile.
    Copying(Copier),
}

impl Reader {
    fn read<T: Plain>(&mut self, base: usize, offset: usize) -> Option<T> {
        let address = base.checked_add(offset)?;
        match self {
            // SAFETY: no Rust code has references to the VM's memory.
            Self::Own => unsafe { guarded::load(address) },
            Self::Copying(copier) => copier.copy(address),
        }
    }
}

/// Empty until [`ids`] was called; `None` where ids are no addresses, and the VM looks by itself whether they are known
/// (JDK 26 and later).
static IDS: OnceLock<Option<MethodIds>> = OnceLock::new();

/// Learns the layout unless another thread has. No thread waits for another one here: the VM may run Java code
/// meanwhile, which may wait for the waiting thread.
fn ids(vm: Vm<'_>) -> Option<&'static MethodIds> {
    if IDS.get().is_none() {
        // Another thread may have learnt it from the same VM.
        let _ = IDS.set(MethodIds::learn(vm.jvmti, vm.jni));
    }
    IDS.get()?.as_ref()
}

/// Returns whether a current method, whose address this is, has the id. If so, the word at the id has that address
/// until the VM redefines the method or is about to free it (`Method::clear_jmethod_ids`), and can be read for ever.
/// `None` where ids are no addresses, or as long as the layout is not learnt.
pub(super) fn is_id_of(id: usize, method: usize) -> Option<bool> {
    let ids = IDS.get()?.as_ref()?;
    Some(ids.is_id_of(&mut Reader::Own, id, method))
}

impl MethodIds {
    fn learn(jvmti: &Jvmti, jni: &Jni) -> Option<Self> {
        let structs = VmStructs::of(VmLibrary::of(jvmti)?)?;
        let ids = Self {
            layout: walk_layout::method(structs)?,
        };
        // These are current.
        let object = jni.find_class(c"java/lang/Object").ok()?;
        let methods = jvmti.declared_methods(object.get()).ok()?;
        let is_current =
            |method: &JMethodId| ids.standing(&mut Reader::Own, word(*method)) == Standing::Current;
        (!methods.is_empty() && methods.iter().all(is_current)).then_some(ids)
    }

    /// Returns whether a current method has the id.
    fn is_id_of(&self, reader: &mut Reader, id: usize, method: usize) -> bool {
        let is_current = self.standing(reader, id) == Standing::Current;
        is_current && reader.read(id, 0) == Some(method)
    }

    fn standing(&self, reader: &mut Reader, id: usize) -> Standing {
        match reader.read(id, 0) {
            // As for numbers that are no addresses, too (`JNIMethodBlock::_free_method`).
            Some(method) if !is_address(method) => Standing::Unloaded,
            Some(method) => self
                .of_method(reader, method, id)
                .unwrap_or(Standing::Freed),
            None => Standing::Freed,
        }
    }

    /// `None` where the way from the method to its id ends.
    fn of_method(&self, reader: &mut Reader, method: usize, id: usize) -> Option<Standing> {
        let layout = &self.layout;
        let mut pointer = |base, offset| {
            let found = reader.read(base, offset);
            found.filter(|&found| is_address(found))
        };
        let constant = pointer(method, layout.constant)?;
        let pool = pointer(constant, layout.pool)?;
        let holder = pointer(pool, layout.holder)?;
        let ids = pointer(holder, layout.ids)?;
        let methods = pointer(holder, layout.methods)?;
        let number = usize::from(reader.read::<u16>(constant, layout.number)?);
        let count: usize = reader.read(ids, 0)?;
        let offset = number.checked_add(1)?.checked_mul(size_of::<usize>())?;
        if number >= count || reader.read::<usize>(ids, offset)? != id {
            return None;
        }
        let length: i32 = reader.read(methods, 0)?;
        Some(match number < usize::try_from(length).ok()? {
            true => Standing::Current,
            false => Standing::Obsolete,
        })
    }
}

impl Vm<'_> {
    /// Returns whether the VM may be asked about a method, by a thread that need not have it on its
    /// stack.
    pub fn knows_method(self, method: JMethodId) -> bool {
        let Some(ids) = ids(self) else {
            return true;
        };
        let mut reader = Copier::new().map_or(Reader::Own, Reader::Copying);
        if reader.read::<usize>(word(method), 0).is_none() {
            // The VM never frees the word of an id: something is wrong with the copier.
            reader = Reader::Own;
        }
        match ids.standing(&mut reader, word(method)) {
            Standing::Current => true,
            Standing::Obsolete => !FREED.load(Ordering::Relaxed),
            Standing::Unloaded => false,
            Standing::Freed => {
                FREED.store(true, Ordering::Relaxed);
                false
            }
        }
    }

    /// Exchanges obsolete methods in frames that the VM has just given of the current thread for what their classes have
    /// now, or for none: no later call could look them up. Safe in callbacks of events: it does nothing until
    /// [`Self::knows_method`] was asked once.
    pub fn without_obsolete(self, frames: &mut [StackFrame]) {
        let Some(ids) = IDS.get().and_then(Option::as_ref) else {
            return;
        };
        let mut has_obsolete = false;
        for frame in frames {
            let method = frame.method;
            let (id, place) = (word(method), place(method));
            if id != 0 && place.load(Ordering::Relaxed) == id {
                continue;
            }
            let current = match ids.standing(&mut Reader::Own, id) {
                Standing::Current => {
                    place.store(id, Ordering::Relaxed);
                    continue;
                }
                // The frame keeps it.
                Standing::Obsolete => self.current_version(method),
                Standing::Unloaded => None,
                Standing::Freed => {
                    FREED.store(true, Ordering::Relaxed);
                    None
                }
            };
            frame.method = current.unwrap_or(JMethodId::NONE);
            has_obsolete = true;
        }
        if has_obsolete {
            StackKeys::saw_obsolete();
        }
    }

    /// The version of an obsolete method that its class has now. The method is on the current thread's stack.
    fn current_version(self, method: JMethodId) -> Option<JMethodId> {
        let Self { jvmti, jni } = self;
        let name = jvmti.method_name(method).ok()?;
        let class = jvmti.declaring_class(jni, method).ok()?;
        let methods = jvmti.declared_methods(class.get()).ok()?;
        let is_same = |&&other: &&JMethodId| jvmti.method_name(other).is_ok_and(|it| it == name);
        methods.iter().find(is_same).copied()
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    const LAYOUT: MethodLayout = MethodLayout {
        constant: 8,
        access_flags: 0,
        native_flag: 0,
        pool: 8,
        number: 16,
        code_size: 0,
        constant_size: 0,
        holder: 8,
        ids: 8,
        methods: 16,
        array_data: 8,
    };

    /// A class of two methods with ids, whose last method has this number, and the id of that.
    struct Class {
        words: Vec<[usize; 4]>,
        ids: MethodIds,
    }

    impl Class {
        fn new(number: usize) -> Self {
            let mut words = vec![[0usize; 4]; 7];
            let at = |words: &[[usize; 4]], index: usize| words[index].as_ptr().expose_provenance();
            // Id, method, its constant part, pool, class, the array of ids, the array of methods.
            words[0][0] = at(&words, 1);
            words[1][1] = at(&words, 2);
            words[2][1] = at(&words, 3);
            words[2][2] = number;
            words[3][1] = at(&words, 4);
            words[4][1] = at(&words, 5);
            words[4][2] = at(&words, 6);
            words[5] = [3, 0, 0, 0];
            words[5][1 + number] = at(&words, 0);
            words[6][0] = 2;
            Self {
                words,
                ids: MethodIds { layout: LAYOUT },
            }
        }

        fn standing(&self) -> Standing {
            self.ids.standing(&mut reader(), self.address(0))
        }

        fn address(&self, index: usize) -> usize {
            self.words[index].as_ptr().expose_provenance()
        }
    }

    fn reader() -> Reader {
        Reader::Copying(Copier::new().unwrap())
    }

    /// An interpreted frame has the method itself, which may be a version that its class has no more.
    #[test]
    fn an_id_is_that_of_one_method() {
        let is_id_of = |class: &Class, method: usize| {
            let (id, method) = (class.address(0), class.address(method));
            class.ids.is_id_of(&mut reader(), id, method)
        };
        let mut class = Class::new(1);
        assert!(is_id_of(&class, 1));
        assert!(!is_id_of(&class, 2));
        class.words[0][0] = 0;
        assert!(!is_id_of(&class, 1), "its class was unloaded");
        assert!(!is_id_of(&Class::new(2), 1), "it is obsolete");
    }

    #[test]
    fn a_method_is_current_if_its_class_has_its_number() {
        assert_eq!(Class::new(0).standing(), Standing::Current);
        assert_eq!(Class::new(1).standing(), Standing::Current);
        assert_eq!(Class::new(2).standing(), Standing::Obsolete);
    }

    #[test]
    fn an_id_whose_method_was_freed_is_known() {
        for (word, index, value) in [(0, 0, 8), (1, 1, 7), (2, 1, 64), (5, 0, 1), (5, 2, 8)] {
            let mut class = Class::new(1);
            class.words[word][index] = value;
            assert_eq!(class.standing(), Standing::Freed, "{word} {index}");
        }
        for nothing in [0, 55] {
            let mut class = Class::new(1);
            class.words[0][0] = nothing;
            assert_eq!(class.standing(), Standing::Unloaded);
        }
    }
}
