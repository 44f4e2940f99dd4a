//! Arguments that several commands about heap dumps share.

use clap::Args;

use crate::snapshot::HeapArguments;

/// The arguments of commands that list rows of a heap dump.
#[derive(Debug, Args)]
pub struct Listing {
    #[command(flatten)]
    pub(super) heap: HeapArguments,

    /// The number of rows, 0 for all.
    #[arg(long, value_name = "N", default_value_t = 25)]
    top: usize,

    /// Print JSON, with exact numbers.
    #[arg(long)]
    pub(super) json: bool,
}

impl Listing {
    /// The number of rows that are wanted.
    pub(super) fn most(&self) -> usize {
        if self.top == 0 { usize::MAX } else { self.top }
    }

    /// Removes the rows after the wanted ones, and returns their number.
    pub(super) fn cut<T>(&self, rows: &mut Vec<T>) -> usize {
        let all = rows.len();
        rows.truncate(self.most());
        all - rows.len()
    }
}
