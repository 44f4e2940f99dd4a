//! Class names as Java source has them.

/// Turns a signature (JVM specification, 4.3.2) into the name that HPROF prints:
/// `[[I` is `int[][]`, `Ljava/util/Map$Entry;` is `java.util.Map$Entry`. Hidden
/// classes keep the dot and suffix that the VM puts into their signature.
pub fn java_class_name(signature: &str) -> String {
    let element = signature.trim_start_matches('[');
    let dimensions = signature.len() - element.len();
    let mut name = match element {
        "B" => "byte".to_owned(),
        "C" => "char".to_owned(),
        "D" => "double".to_owned(),
        "F" => "float".to_owned(),
        "I" => "int".to_owned(),
        "J" => "long".to_owned(),
        "S" => "short".to_owned(),
        "V" => "void".to_owned(),
        "Z" => "boolean".to_owned(),
        class => match class
            .strip_prefix('L')
            .and_then(|rest| rest.strip_suffix(';'))
        {
            Some(inner) => inner.replace('/', "."),
            None => "Unknown_class".to_owned(),
        },
    };
    for _ in 0..dimensions {
        name.push_str("[]");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::java_class_name;

    #[test]
    fn signatures_become_names() {
        for (signature, name) in [
            ("Ljava/lang/String;", "java.lang.String"),
            ("[Ljava/lang/String;", "java.lang.String[]"),
            ("[[I", "int[][]"),
            ("Z", "boolean"),
            ("La$b;", "a$b"),
            (
                "LSpin$$Lambda$1.0x00007f29d8000a08;",
                "Spin$$Lambda$1.0x00007f29d8000a08",
            ),
            ("", "Unknown_class"),
            ("Lx", "Unknown_class"),
            ("[", "Unknown_class[]"),
        ] {
            assert_eq!(java_class_name(signature), name);
        }
    }
}
