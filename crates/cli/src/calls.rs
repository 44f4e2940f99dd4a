//! The samples within slow calls of timed methods, within the others, or within those of a request: `--slow`, `--fast` and `--request`.

use clap::Args;
use hprof_stacks::slow_spans::CallsPart;

/// Which samples are shown, by the calls that they are in.
#[derive(Debug, Clone, Default, Args)]
pub struct CallsArgument {
    /// Show only samples within slow calls, of profiles with slow=com.acme.Api.handle:200ms; with a text, of timed methods that
    /// have it in their names.
    #[arg(long, value_name = "METHOD", num_args = 0..=1, require_equals = true, default_missing_value = "",
        conflicts_with = "fast")]
    slow: Option<String>,

    /// Show only samples within calls of timed methods that are not slow, as far as stacks reach to them.
    #[arg(long, value_name = "METHOD", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    fast: Option<String>,

    /// Show only samples within calls that worked for a request: the id of its trace or span, as `hprof-rs slow` shows it at the
    /// slowest calls.
    #[arg(long, value_name = "ID", conflicts_with_all = ["slow", "fast"])]
    request: Option<String>,
}

impl CallsArgument {
    /// The samples that are asked for, if not all are.
    pub fn part(&self) -> Option<(CallsPart, &str)> {
        let slow = self.slow.as_deref().map(|name| (CallsPart::Slow, name));
        let fast = self.fast.as_deref().map(|name| (CallsPart::Fast, name));
        let request = self.request.as_deref();
        let request = request.map(|id| (CallsPart::Request, id));
        slow.or(fast).or(request)
    }
}
