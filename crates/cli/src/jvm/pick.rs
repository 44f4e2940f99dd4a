//! The JVM that a word of the command line names: a process id, or a part of its program's name.

use std::path::Path;

use super::{Jvm, all};
use crate::render::screen::printable;

/// The process id that `word` stands for: a number as it is; else the one JVM whose main class or JAR file has this
/// name, or, if none has, contains it.
///
/// # Errors
/// If no JVM or several fit; the message lists them.
pub fn pid(word: &str) -> Result<u32, String> {
    if let Ok(number) = word.parse::<u32>() {
        return match number {
            0 => Err("a process id is at least 1; `hprof-rs ps` lists the JVMs".to_owned()),
            number => Ok(number),
        };
    }
    if word.is_empty() || word.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(
            "give a process id or a program's name; `hprof-rs ps` lists the JVMs".to_owned(),
        );
    }
    let jvms = all().map_err(|error| format!("cannot list the JVMs: {error}"))?;
    let names: Vec<(u32, &str, &str)> = jvms.iter().map(named).collect();
    choose(word, &names)
}

/// The JVM that an argument names which is meant for a file, if no file has that name: by its process id, or by the whole
/// or a part of its program's name. `None` if it can only be a file's name.
pub fn instead_of_file(path: &Path) -> Option<Result<u32, String>> {
    let word = path
        .to_str()
        .filter(|word| !word.is_empty() && *word != "-")?;
    if word.contains('/') || path.symlink_metadata().is_ok() {
        return None;
    }
    if let Ok(number) = word.parse::<u32>() {
        return (number > 0).then_some(Ok(number));
    }
    let jvms = all().ok()?;
    let names: Vec<(u32, &str, &str)> = jvms.iter().map(named).collect();
    let is_named = names.iter().any(|it| it.1.contains(word));
    is_named.then(|| choose(word, &names))
}

fn named(jvm: &Jvm) -> (u32, &str, &str) {
    (jvm.pid.0, &jvm.main, jvm.short_name())
}

/// Chooses among process ids with full and short names.
fn choose(word: &str, names: &[(u32, &str, &str)]) -> Result<u32, String> {
    let exact = |it: &&(u32, &str, &str)| it.1 == word || it.2 == word;
    let mut found: Vec<_> = names.iter().filter(exact).collect();
    if found.is_empty() {
        found = names.iter().filter(|it| it.1.contains(word)).collect();
    }
    match found.as_slice() {
        [] => Err(
            "no running JVM has this process id or name; `hprof-rs ps` lists the JVMs".to_owned(),
        ),
        [one] => Ok(one.0),
        several => {
            let list: Vec<String> = several
                .iter()
                .map(|it| format!("{} ({})", it.0, printable(it.1)))
                .collect();
            Err(format!(
                "{} JVMs have this name, give the process id of one: {}",
                several.len(),
                list.join(", ")
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_name_wins_over_a_part() {
        let names = [
            (7, "acme.OrderService", "OrderService"),
            (8, "acme.OrderServiceTest", "OrderServiceTest"),
            (9, "acme.Shop", "Shop"),
        ];
        assert_eq!(choose("OrderService", &names), Ok(7));
        assert_eq!(choose("acme.Shop", &names), Ok(9));
        assert_eq!(choose("Test", &names), Ok(8));
        let several = choose("Order", &names).unwrap_err();
        assert!(several.contains("7 (acme.OrderService), 8 ("), "{several}");
        assert!(choose("Nothing", &names).is_err());
    }

    #[test]
    fn files_come_before_jvms() {
        let scene = tempfile::tempdir().unwrap();
        let file = scene.path().join("4242");
        std::fs::write(&file, "").unwrap();
        assert_eq!(instead_of_file(&file), None);
        assert_eq!(instead_of_file(Path::new("-")), None);
        assert_eq!(instead_of_file(Path::new("0")), None);
        assert_eq!(instead_of_file(Path::new("no-such-file.hprof")), None);
        assert_eq!(instead_of_file(Path::new("4242")), Some(Ok(4242)));
    }

    #[test]
    fn numbers_are_process_ids() {
        assert_eq!(pid("4242"), Ok(4242));
        assert!(pid("0").is_err() && pid("").is_err() && pid("99999999999").is_err());
    }
}
