//! Names of frames as other tools print them.

use std::borrow::Cow;

use hprof_java_names::source_form;

/// The marks that async-profiler puts behind the name of a Java method: how it was compiled.
const MARKS: [&str; 4] = ["_[j]", "_[i]", "_[0]", "_[1]"];
/// Its mark of a function of the kernel.
const KERNEL_MARK: &str = "_[k]";

/// The name of a function of the kernel, as the agent writes it.
pub(crate) fn kernel(function: &str) -> String {
    format!("[kernel] {function}")
}

/// The class in source form and the method of a frame. The class is empty for native code and for
/// whatever is no Java method.
pub(crate) fn split(name: &str) -> (String, Cow<'_, str>) {
    if let Some(function) = name.strip_suffix(KERNEL_MARK) {
        return (String::new(), kernel(function).into());
    }
    let bare = MARKS.iter().find_map(|mark| name.strip_suffix(mark));
    let name = bare.unwrap_or(name);
    let strange = [' ', ':', '(', '*', '&', '[', ']', '!'];
    match name.rsplit_once('.') {
        // `libc.so` and `libc.so.6` are files.
        Some((class, method))
            if !class.is_empty()
                && !name.contains(strange)
                && method != "so"
                && !method.is_empty()
                && !method.starts_with(|c: char| c.is_ascii_digit()) =>
        {
            (source_form(class), method.into())
        }
        _ => (String::new(), name.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn java_methods_have_a_class() {
        for (name, class, method) in [
            ("java/lang/Math.sin", "java.lang.Math", "sin"),
            ("a.B.<init>_[j]", "a.B", "<init>"),
            ("B$1.run", "B$1", "run"),
            ("libc.so.6", "", "libc.so.6"),
            ("std::sort(int*)", "", "std::sort(int*)"),
            ("main", "", "main"),
            ("[unknown]", "", "[unknown]"),
            ("do_syscall_64_[k]", "", "[kernel] do_syscall_64"),
            ("do_futex.part.0_[k]", "", "[kernel] do_futex.part.0"),
        ] {
            assert_eq!(split(name), (class.to_owned(), method.into()));
        }
    }
}
