//! Names of frames as other tools print them.

use hprof_java_names::source_form;

/// The marks that async-profiler puts behind a name: how it was compiled, or the kernel.
const MARKS: [&str; 5] = ["_[j]", "_[i]", "_[0]", "_[1]", "_[k]"];

/// The class in source form and the method of a frame. The class is empty for native code and for
/// whatever is no Java method.
pub(crate) fn split(name: &str) -> (String, &str) {
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
            (source_form(class), method)
        }
        _ => (String::new(), name),
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
        ] {
            assert_eq!(split(name), (class.to_owned(), method));
        }
    }
}
