//! The measured figures, for people and programs.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One measured figure.
#[derive(Debug, Serialize)]
pub struct Figure {
    /// The benchmark's name.
    pub benchmark: &'static str,
    /// JDK, options and the like.
    pub case: String,
    /// The measured quantity.
    pub measure: &'static str,
    /// Without the agent, or the truth, where there is such a thing.
    pub plain: Option<f64>,
    /// With the agent.
    pub profiled: f64,
    /// Unit of both.
    pub unit: &'static str,
    /// The figure that counts: a ratio, difference or share.
    pub result: f64,
    /// The expected value of `result`.
    pub wanted: Wanted,
}

/// The expected value of a result.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub enum Wanted {
    /// Anything; it is only told.
    Any,
    /// At most this.
    AtMost(f64),
    /// At least this.
    AtLeast(f64),
    /// Between these.
    Within(f64, f64),
}

impl Wanted {
    fn is_met_by(self, result: f64) -> bool {
        match self {
            Wanted::Any => true,
            Wanted::AtMost(most) => result <= most,
            Wanted::AtLeast(least) => result >= least,
            Wanted::Within(least, most) => (least..=most).contains(&result),
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Wanted::Any => String::new(),
            Wanted::AtMost(most) => format!("<= {most}"),
            Wanted::AtLeast(least) => format!(">= {least}"),
            Wanted::Within(least, most) => format!("{least} .. {most}"),
        };
        out.pad(&text)
    }
}

/// A figure, and whether it is as wanted.
#[derive(Debug, Serialize)]
pub struct Judged {
    /// The figure.
    #[serde(flatten)]
    pub figure: Figure,
    /// Half of the interval that holds the median with 95 %, in the unit of the result, where it is of pairs.
    pub noise: Option<f64>,
    met: bool,
}

/// All figures of a run.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Figures {
    all: Vec<Judged>,
}

impl Figures {
    /// Adds a figure that is not of pairs of runs.
    pub fn add(&mut self, figure: Figure) {
        self.add_paired(figure, None);
    }

    /// Adds a figure of pairs of runs, with its [`noise`].
    pub fn add_paired(&mut self, figure: Figure, noise: Option<f64>) {
        let met = figure.wanted.is_met_by(figure.result);
        let judged = Judged { figure, noise, met };
        eprintln!("  {judged}");
        self.all.push(judged);
    }

    /// All, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = &Judged> {
        self.all.iter()
    }

    /// How many are not as wanted.
    pub fn missed(&self) -> usize {
        self.all.iter().filter(|judged| !judged.met).count()
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figure {
            benchmark,
            case,
            measure,
            plain,
            profiled,
            unit,
            result,
            wanted,
        } = &self.figure;
        let plain = plain.map_or(String::new(), |plain| format!("{plain:.3}"));
        write!(
            out,
            "{benchmark:7} {case:40} {measure:16} {plain:>10} {profiled:>10.3} {unit:4}"
        )?;
        write!(
            out,
            " {result:>9.3} {wanted:14} {}",
            if self.met { "ok" } else { "MISSED" }
        )
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:7} {:40} {:16}", "", "case", "measure")?;
        writeln!(
            out,
            " {:>10} {:>10} {:4} {:>9} wanted",
            "plain", "profiled", "", "result"
        )?;
        self.all
            .iter()
            .try_for_each(|figure| writeln!(out, "{figure}"))
    }
}

/// The median; of an even number the mean of the middle two.
///
/// # Panics
///
/// When there are no values.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        (sorted[middle - 1] + sorted[middle]) / 2.0
    }
}

/// Half of the interval that holds the median of such values with 95 %, in their unit; none of fewer than three. The median of
/// values of a normal distribution has 1.253 times the standard error of the mean.
pub fn noise(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.into_iter().collect();
    let count = values.len() as f64;
    if values.len() < 3 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|it| (it - mean).powi(2)).sum();
    Some(1.96 * 1.253 * (squares / (count - 1.0)).sqrt() / count.sqrt())
}

/// Milliseconds.
pub fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// MiB.
pub fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median([7.0]), 7.0);
    }

    #[test]
    fn noise_is_that_of_the_median() {
        assert_eq!(noise([1.0, 2.0]), None);
        assert_eq!(noise([2.0, 2.0, 2.0]), Some(0.0));
        // A standard deviation of 1.
        let noise = noise([1.0, 2.0, 3.0]).unwrap();
        assert!((noise - 1.96 * 1.253 / 3f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn what_is_wanted() {
        assert!(Wanted::AtMost(1.0).is_met_by(1.0) && !Wanted::AtMost(1.0).is_met_by(1.1));
        assert!(Wanted::AtLeast(1.0).is_met_by(1.0) && !Wanted::AtLeast(1.0).is_met_by(0.9));
        assert!(Wanted::Within(1.0, 2.0).is_met_by(2.0));
        assert!(!Wanted::Within(1.0, 2.0).is_met_by(f64::NAN));
    }
}
