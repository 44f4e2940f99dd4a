//! The choice of references that keep an object alive.

use serde::{Deserialize, Serialize};

/// The kinds of `java.lang.ref.Reference` (package `java.lang.ref`, Java SE API).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReferenceKind {
    /// Cleared only when memory is short.
    Soft,
    /// Keeps nothing alive.
    Weak,
    /// Keeps nothing alive; tells that an object is gone.
    Phantom,
    /// A reference of the VM: waits for the object's death in order to call its `finalize`.
    Final,
}

impl ReferenceKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Soft, Self::Weak, Self::Phantom, Self::Final];

    /// The kind whose own class has this name.
    pub fn of_class(name: &str) -> Option<Self> {
        Some(match name {
            "java.lang.ref.SoftReference" => Self::Soft,
            "java.lang.ref.WeakReference" => Self::Weak,
            "java.lang.ref.PhantomReference" => Self::Phantom,
            "java.lang.ref.FinalReference" | "java.lang.ref.FinalizerReference" => Self::Final,
            _ => return None,
        })
    }

    /// The name as options have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Soft => "soft",
            Self::Weak => "weak",
            Self::Phantom => "phantom",
            Self::Final => "final",
        }
    }
}

/// The class that declares what all kinds of references have.
const REFERENCE: &str = "java.lang.ref.Reference";

/// True of the field that leads from a `java.lang.ref.Reference` to its object.
pub(crate) fn is_referent(declared_by: &str, field: &str) -> bool {
    field == "referent" && declared_by == REFERENCE
}

/// True of fields by which a collector links the references that it has found, of whatever program parts they
/// are: `discovered` of HotSpot (`Reference.java`, "used by the garbage collector"), and `pendingNext` of Android.
fn is_link_of_collector(declared_by: &str, field: &str) -> bool {
    declared_by == REFERENCE && matches!(field, "discovered" | "pendingNext")
}

/// Which references keep objects alive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Follow {
    /// The kinds whose `referent` counts as any other field.
    pub kinds: Vec<ReferenceKind>,
    /// Fields that do not count, as `class name` and `field name`.
    pub without: Vec<(String, String)>,
}

impl Default for Follow {
    /// Soft references keep objects alive as long as memory lasts; the others do not.
    fn default() -> Self {
        Self {
            kinds: vec![ReferenceKind::Soft],
            without: Vec::new(),
        }
    }
}

impl Follow {
    /// True if a field does not keep alive what it refers to.
    pub(super) fn passes_over(
        &self,
        kind: Option<ReferenceKind>,
        declared_by: &str,
        field: &str,
    ) -> bool {
        let is_followed = |kind| self.kinds.contains(&kind);
        (is_referent(declared_by, field) && kind.is_some_and(|kind| !is_followed(kind)))
            || is_link_of_collector(declared_by, field)
            || (self.without.iter()).any(|(class, name)| class == declared_by && name == field)
    }
}
