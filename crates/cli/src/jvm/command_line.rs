//! The main class and options in the command line of a `java` launcher.

/// Options of the launcher whose value is the next argument (`man java`).
const WITH_VALUE: &[&str] = &[
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--add-reads",
    "--add-exports",
    "--add-opens",
    "--limit-modules",
    "--patch-module",
    "--source",
    "--enable-native-access",
    "--illegal-native-access",
];

/// The program: what follows the launcher's options, with its arguments.
pub fn program(words: &[String]) -> &[String] {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        match word.as_str() {
            "-jar" | "-m" | "--module" => {
                at += 1;
                break;
            }
            word if WITH_VALUE.contains(&word) => at += 2,
            word if word.starts_with(['-', '@']) => at += 1,
            _ => break,
        }
    }
    words.get(at..).unwrap_or_default()
}

/// Returns the state of a flag of the VM (`-XX:+NAME`) according to these words; the last one counts.
pub fn has_flag<'a>(words: impl IntoIterator<Item = &'a str>, name: &str) -> Option<bool> {
    let mut state = None;
    for word in words {
        let Some(flag) = word.strip_prefix("-XX:") else {
            continue;
        };
        match flag.split_at_checked(1) {
            Some(("+", flag)) if flag == name => state = Some(true),
            Some(("-", flag)) if flag == name => state = Some(false),
            _ => {}
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        program(&words).join(" ")
    }

    #[test]
    fn the_program_follows_the_options() {
        assert_eq!(shown("java -Xmx1g -cp a:b com.App x -y"), "com.App x -y");
        assert_eq!(shown("/bin/java @args -ea -jar app.jar"), "app.jar");
        assert_eq!(shown("java --add-opens a/b=c -m mod/Main 1"), "mod/Main 1");
        assert_eq!(shown("java -version"), "");
        assert_eq!(shown("java -cp"), "");
    }

    #[test]
    fn the_last_setting_of_a_flag_counts() {
        let flag = |line: &str| has_flag(line.split(' '), "A");
        assert_eq!(flag("java -XX:+AB -XX:B=A"), None);
        assert_eq!(flag("java -XX:-A -XX:+A"), Some(true));
        assert_eq!(flag("java -XX:+A -XX:-A -XX:"), Some(false));
    }
}
