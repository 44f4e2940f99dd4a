//! Figures of `/proc/PID/status` and `/proc/PID/limits`.

use serde::Serialize;

use crate::Bytes;

/// Memory in the words of the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Status {
    /// The resident set (`VmRSS`). The kernel counts it for each thread and adds it up late, so it may differ from the
    /// sum of the mappings by some pages for each thread.
    pub resident: Bytes,
    /// The most that was ever resident (`VmHWM`).
    pub peak: Bytes,
    /// Pages of no file (`RssAnon`).
    pub anonymous: Bytes,
    /// Pages of files (`RssFile`).
    pub of_files: Bytes,
    /// Shared memory (`RssShmem`).
    pub shared: Bytes,
    /// Pages in the swap space (`VmSwap`).
    pub swapped: Bytes,
    /// Page tables, which the kernel counts for the cgroup and not for the process (`VmPTE`).
    pub page_tables: Bytes,
    /// The number of threads.
    pub threads: u64,
}

/// Reads `/proc/PID/status`; fields that are missing are 0.
pub fn parse(text: &str) -> Status {
    let number = |name: &str| -> u64 {
        let value = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let digits = value.and_then(|value| value.split_whitespace().next());
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
    };
    let kib = |name: &str| Bytes::kib(number(name));
    Status {
        resident: kib("VmRSS"),
        peak: kib("VmHWM"),
        anonymous: kib("RssAnon"),
        of_files: kib("RssFile"),
        shared: kib("RssShmem"),
        swapped: kib("VmSwap"),
        page_tables: kib("VmPTE"),
        threads: number("Threads"),
    }
}

/// The limit for the size of the address space in `/proc/PID/limits` (`ulimit -v`); `None` if there is none.
pub fn address_space_limit(limits: &str) -> Option<Bytes> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok().map(Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_found() {
        let text = "Name:\tjava\nVmHWM:\t  200 kB\nVmRSS:\t  100 kB\nRssAnon:\t 60 kB\nRssFile:\t 40 kB\nThreads:\t17\n";
        let status = parse(text);
        assert_eq!(status.resident, Bytes::kib(100));
        assert_eq!((status.peak, status.threads), (Bytes::kib(200), 17));
        assert_eq!(status.swapped, Bytes::ZERO);
    }

    #[test]
    fn a_limit_is_a_number_or_none() {
        let line = |value: &str| {
            format!(
                "Limit  Soft  Hard\nMax address space         {value}            unlimited            bytes\n"
            )
        };
        assert_eq!(address_space_limit(&line("1048576")), Some(Bytes::mib(1)));
        assert_eq!(address_space_limit(&line("unlimited")), None);
        assert_eq!(address_space_limit(""), None);
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in "(VmRSS|Threads|Max address space|:|\t|[0-9]{1,25}|\n| )*") {
            let _ = (parse(&text), address_space_limit(&text));
        }
    }
}
