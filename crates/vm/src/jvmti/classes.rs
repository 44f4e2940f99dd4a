//! Classes, methods and their lines.

use std::os::raw::c_char;
use std::ptr;

use super::env::call;
use super::ids::JMethodId;
use super::jni::Jni;
use super::memory::{VmMemory, take_string};
use super::refs::{Class, LocalRef, Ref};
use crate::{Jvmti, JvmtiError, Result};
use hprof_native_headers as raw;

/// `ACC_ABSTRACT` (Java Virtual Machine Specification, table 4.6-A).
const ABSTRACT: i32 = 0x400;

/// Name and descriptor of a method, as in its class file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodName {
    /// The plain name; `<init>` and `<clinit>` as such.
    pub name: String,
    /// The descriptor, such as `(I)V`.
    pub descriptor: String,
}

/// One entry of a line number table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineEntry {
    /// First bytecode index of the line.
    pub start: u32,
    /// Line in the source file.
    pub line: u32,
}

impl Jvmti {
    /// All classes that are loaded now.
    ///
    /// # Errors
    /// The error of `GetLoadedClasses`.
    pub fn loaded_classes<'a>(&self, jni: &'a Jni) -> Result<Vec<LocalRef<'a, Class>>> {
        let mut count = 0;
        let mut classes = ptr::null_mut();
        call!(self, GetLoadedClasses, &mut count, &mut classes)?;
        // SAFETY: the VM allocated `count` references for us.
        let classes = unsafe { VmMemory::new(self, classes, count.max(0) as usize) };
        // SAFETY: the VM made them for us, as local references to classes.
        Ok(unsafe { jni.own_all(&classes) })
    }

    /// The loader of a class; `None` for the VM's own.
    ///
    /// # Errors
    /// The error of `GetClassLoader`.
    pub fn class_loader<'a>(
        &self,
        jni: &'a Jni,
        class: Ref<'_, Class>,
    ) -> Result<Option<LocalRef<'a>>> {
        let mut loader = ptr::null_mut();
        call!(self, GetClassLoader, class.as_raw(), &mut loader)?;
        // SAFETY: the VM made a local reference, or none.
        Ok(unsafe { LocalRef::own(jni, loader) })
    }

    /// Makes the VM create the ids of all methods of a class, and returns how
    /// many there are. A stack walk in a signal handler finds ids, it cannot
    /// make them.
    ///
    /// # Errors
    /// The error of `GetClassMethods`, usually `CLASS_NOT_PREPARED`.
    pub fn create_method_ids(&self, class: Ref<'_, Class>) -> Result<usize> {
        Ok(self.declared_methods(class)?.len())
    }

    /// The methods that a class declares itself.
    ///
    /// # Errors
    /// The error of `GetClassMethods`.
    pub fn declared_methods(&self, class: Ref<'_, Class>) -> Result<VmMemory<'_, JMethodId>> {
        let mut count = 0;
        let mut methods = ptr::null_mut();
        call!(
            self,
            GetClassMethods,
            class.as_raw(),
            &mut count,
            &mut methods
        )?;
        let methods = methods.cast::<JMethodId>();
        // SAFETY: the VM allocated `count` ids for us, and `JMethodId` is laid out as the raw id.
        Ok(unsafe { VmMemory::new(self, methods, count.max(0) as usize) })
    }

    /// Returns whether a class is an interface.
    pub fn is_interface(&self, class: Ref<'_, Class>) -> bool {
        let mut answer = false;
        call!(self, IsInterface, class.as_raw(), &mut answer).is_ok() && answer
    }

    /// Returns whether a class is an interface no method of which has code.
    pub fn is_interface_without_code(&self, class: Ref<'_, Class>) -> bool {
        let is_abstract = |&method: &JMethodId| {
            let mut modifiers = 0;
            call!(self, GetMethodModifiers, method.as_raw(), &mut modifiers).is_ok()
                && modifiers & ABSTRACT != 0
        };
        self.is_interface(class)
            && self
                .declared_methods(class)
                .is_ok_and(|methods| methods.iter().all(is_abstract))
    }

    /// The code of a method. Needs the capability `can_get_bytecodes`.
    ///
    /// # Errors
    /// `NATIVE_METHOD`, and what else `GetBytecodes` says. An abstract method has none.
    pub fn bytecodes(&self, method: JMethodId) -> Result<VmMemory<'_, u8>> {
        let mut count = 0;
        let mut code = ptr::null_mut();
        call!(self, GetBytecodes, method.as_raw(), &mut count, &mut code)?;
        // SAFETY: the VM allocated `count` bytes for us, or none.
        Ok(unsafe { VmMemory::new(self, code, count.max(0) as usize) })
    }

    /// The count of a class's constants and their bytes, as in its class file. Needs the capability
    /// `can_get_constant_pool`.
    ///
    /// # Errors
    /// The error of `GetConstantPool`, and that of a class that cannot be changed for one that may have constants which
    /// that function does not expect.
    pub fn constants(&self, class: Ref<'_, Class>) -> Result<(u16, VmMemory<'_, u8>)> {
        if self.may_have_replaced_constants(class) {
            return Err(JvmtiError::UNMODIFIABLE_CLASS);
        }
        let (mut count, mut len, mut bytes) = (0, 0, ptr::null_mut());
        call!(
            self,
            GetConstantPool,
            class.as_raw(),
            &mut count,
            &mut len,
            &mut bytes
        )?;
        // SAFETY: the VM allocated `len` bytes for us.
        let bytes = unsafe { VmMemory::new(self, bytes, len.max(0) as usize) };
        Ok((u16::try_from(count).unwrap_or(0), bytes))
    }

    /// The signature of a class, such as `Ljava/lang/String;`.
    ///
    /// # Errors
    /// The error of `GetClassSignature`.
    pub fn class_signature(&self, class: Ref<'_, Class>) -> Result<String> {
        let mut signature: *mut c_char = ptr::null_mut();
        call!(
            self,
            GetClassSignature,
            class.as_raw(),
            &mut signature,
            ptr::null_mut()
        )?;
        // SAFETY: the VM allocated the string for us.
        Ok(unsafe { take_string(self, signature) }.unwrap_or_default())
    }

    /// The SourceFile attribute, `None` when the class has none.
    pub fn source_file(&self, class: Ref<'_, Class>) -> Option<String> {
        let mut name: *mut c_char = ptr::null_mut();
        call!(self, GetSourceFileName, class.as_raw(), &mut name).ok()?;
        // SAFETY: the VM allocated the string for us.
        unsafe { take_string(self, name) }
    }

    /// The class that declares a method.
    ///
    /// # Errors
    /// `INVALID_METHODID` when the class was unloaded.
    pub fn declaring_class<'a>(
        &self,
        jni: &'a Jni,
        method: JMethodId,
    ) -> Result<LocalRef<'a, Class>> {
        let mut class = ptr::null_mut();
        call!(self, GetMethodDeclaringClass, method.as_raw(), &mut class)?;
        // SAFETY: the VM made a local reference to a class.
        unsafe { LocalRef::own(jni, class) }.ok_or(JvmtiError::INTERNAL)
    }

    /// Name and descriptor of a method.
    ///
    /// # Errors
    /// `INVALID_METHODID` when the class was unloaded.
    pub fn method_name(&self, method: JMethodId) -> Result<MethodName> {
        let mut name: *mut c_char = ptr::null_mut();
        let mut descriptor: *mut c_char = ptr::null_mut();
        call!(
            self,
            GetMethodName,
            method.as_raw(),
            &mut name,
            &mut descriptor,
            ptr::null_mut()
        )?;
        // SAFETY: the VM allocated both strings for us.
        let (name, descriptor) =
            unsafe { (take_string(self, name), take_string(self, descriptor)) };
        Ok(MethodName {
            name: name.unwrap_or_default(),
            descriptor: descriptor.unwrap_or_default(),
        })
    }

    /// The line number table of a method in ascending bytecode order; empty when
    /// it has none (natives, stripped classes).
    pub fn line_numbers(&self, method: JMethodId) -> Vec<LineEntry> {
        let mut count = 0;
        let mut entries: *mut raw::jvmtiLineNumberEntry = ptr::null_mut();
        if call!(
            self,
            GetLineNumberTable,
            method.as_raw(),
            &mut count,
            &mut entries
        )
        .is_err()
        {
            return Vec::new();
        }
        // SAFETY: the VM allocated `count` entries for us.
        let entries = unsafe { VmMemory::new(self, entries, count.max(0) as usize) };
        let mut lines: Vec<LineEntry> = entries
            .iter()
            .map(|entry| LineEntry {
                start: u32::try_from(entry.start_location).unwrap_or(0),
                line: u32::try_from(entry.line_number).unwrap_or(0),
            })
            .collect();
        lines.sort_by_key(|entry| entry.start);
        lines
    }
}
