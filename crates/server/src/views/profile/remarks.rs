//! Sentences for the losses that the profiler's remarks report.

use hprof_stacks::pictures::numbers::count;

/// A sentence for each loss that makes a profile less exact than it looks. Other counts of the profiler say nothing to
/// a reader of a profile.
pub(super) fn losses(remarks: &[String]) -> Vec<String> {
    let words = || {
        let lines = remarks.iter().filter(|line| line.starts_with("hprof-rs"));
        // The class of the program may hold blanks and stands last.
        let lines = lines.map(|line| line.split_once(" main=").map_or(line.as_str(), |it| it.0));
        lines.flat_map(|line| line.split(' ').filter_map(|word| word.split_once('=')))
    };
    let number = |wanted: &str| -> u64 {
        let found = words().filter(|(key, _)| *key == wanted);
        found
            .filter_map(|(_, value)| value.parse::<u64>().ok())
            .max()
            .unwrap_or(0)
    };
    let mut sentences = Vec::new();
    match number("lost_samples") {
        0 => {}
        1 => sentences.push("1 sample was lost".to_owned()),
        lost => sentences.push(format!(
            "{} samples were lost; a longer interval loses fewer",
            count(lost)
        )),
    }
    match number("threads_without_timer") {
        0 => {}
        1 => {
            sentences.push("1 thread had no timer, so the profile has no samples of it".to_owned())
        }
        threads => sentences.push(format!(
            "{} threads had no timer, so the profile has no samples of them",
            count(threads)
        )),
    }
    if words().any(|word| word == ("handler_replaced", "y")) {
        sentences.push(
            "another library took over the profiler's signal, and sampling stopped then".to_owned(),
        );
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::losses;

    #[test]
    fn only_losses_become_sentences() {
        let remarks = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let sound = remarks(
            "hprof-rs agent: version=0.1.0 pid=1 main=App lost_samples=9\n\
             hprof-rs: lost_samples=0 foreign_signals=0 threads_without_timer=0 handler_replaced=n\n\
             hprof-rs: a recording of 31 s\n\
             another=tool lost_samples=3",
        );
        assert_eq!(losses(&sound), Vec::<String>::new());
        let poor =
            remarks("hprof-rs: lost_samples=1200 threads_without_timer=1 handler_replaced=y");
        assert_eq!(
            losses(&poor),
            [
                "1,200 samples were lost; a longer interval loses fewer",
                "1 thread had no timer, so the profile has no samples of it",
                "another library took over the profiler's signal, and sampling stopped then",
            ]
        );
    }
}
