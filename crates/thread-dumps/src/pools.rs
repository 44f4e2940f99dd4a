//! Pools of threads, by the names of their threads: `http-nio-8080-exec-7` is one of `http-nio-8080-exec-*`.

/// The name of the pool: numbers at the end, and those between separators where other threads differ in
/// nothing else, become `*`.
pub fn of(name: &str) -> String {
    let mut pool = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        let end = from
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(from.len());
        let after = &from[end..];
        pool.push_str(before);
        // A port or a version is part of the name: what follows it tells threads apart.
        let is_last = !after.contains(|c: char| c.is_ascii_digit());
        let is_counter = before.ends_with(['-', '#', ' ', '_', '@', '.', ':', '['])
            && (is_last || before.ends_with("pool-"));
        match is_counter || is_last {
            true => pool.push('*'),
            false => pool.push_str(&from[..end]),
        }
        rest = after;
    }
    pool.push_str(rest);
    pool
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn the_last_number_tells_the_threads_of_a_pool_apart() {
        for (name, pool) in [
            ("http-nio-8080-exec-7", "http-nio-8080-exec-*"),
            ("pool-3-thread-12", "pool-*-thread-*"),
            (
                "ForkJoinPool.commonPool-worker-3",
                "ForkJoinPool.commonPool-worker-*",
            ),
            ("ForkJoinPool-1-worker-3", "ForkJoinPool-1-worker-*"),
            ("G1 Conc#0", "G1 Conc#*"),
            ("C2 CompilerThread0", "C2 CompilerThread*"),
            ("main", "main"),
            ("", ""),
        ] {
            assert_eq!(of(name), pool);
        }
    }
}
