//! The figures kept in the repository: which of those measured now are worse, and a page of all.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::figures::{Figures, Judged, Wanted};

/// The noise of a figure that is not measured in pairs, as a share of it.
const USUAL_NOISE: f64 = 0.05;
/// Below this share of a figure a change is taken for noise, however alike the pairs were: machines differ from hour to hour by
/// more than the pairs of one hour do.
const LEAST_NOISE: f64 = 0.01;

/// A figure of the table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Kept {
    benchmark: String,
    case: String,
    measure: String,
    result: f64,
    unit: String,
    noise: Option<f64>,
    wanted: Wanted,
}

/// What tells figures apart: benchmark, case without the update of the JDK, measure.
type Key = (String, String, String);

impl Kept {
    fn of(judged: &Judged) -> Kept {
        let figure = &judged.figure;
        Kept {
            benchmark: figure.benchmark.to_owned(),
            case: feature_only(&figure.case),
            measure: figure.measure.to_owned(),
            result: thousandths(figure.result),
            unit: figure.unit.to_owned(),
            noise: judged.noise.map(thousandths),
            wanted: figure.wanted,
        }
    }

    fn key(&self) -> Key {
        (
            self.benchmark.clone(),
            self.case.clone(),
            self.measure.clone(),
        )
    }

    /// By how much a figure differs by chance, in its unit.
    fn noise(&self) -> f64 {
        let least = LEAST_NOISE * self.result.abs();
        let usual = || USUAL_NOISE * self.result.abs();
        self.noise.unwrap_or_else(usual).max(least)
    }

    /// By how much `now` is worse, in the unit of both; less than 0 where it is better.
    fn worse_by(&self, now: &Kept) -> f64 {
        match now.wanted {
            Wanted::Any | Wanted::AtMost(_) => now.result - self.result,
            Wanted::AtLeast(_) => self.result - now.result,
            Wanted::Within(least, most) => {
                let middle = f64::midpoint(least, most);
                (now.result - middle).abs() - (self.result - middle).abs()
            }
        }
    }
}

/// The table of a file, in the order of benchmarks, cases and measures.
#[derive(Debug, Default)]
pub struct Table(BTreeMap<Key, Kept>);

/// The table in the repository.
pub fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("figures.json")
}

/// The page made of it.
pub fn page_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/figures.md")
}

impl Table {
    /// Reads a table; a file that is not there is an empty one.
    ///
    /// # Errors
    ///
    /// When the file is no table.
    pub fn read(file: &Path) -> Result<Table> {
        if !file.exists() {
            return Ok(Table::default());
        }
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let all: Vec<Kept> =
            serde_json::from_str(&text).with_context(|| file.display().to_string())?;
        Ok(Table(all.into_iter().map(|it| (it.key(), it)).collect()))
    }

    /// Takes the figures of a run in place of older ones, and writes table and page.
    ///
    /// # Errors
    ///
    /// When a file cannot be written.
    pub fn keep(&mut self, figures: &Figures) -> Result<()> {
        for judged in figures.iter().filter(|it| it.figure.result.is_finite()) {
            let kept = Kept::of(judged);
            self.0.insert(kept.key(), kept);
        }
        let all: Vec<&Kept> = self.0.values().collect();
        fs::write(file(), serde_json::to_string_pretty(&all)? + "\n")?;
        fs::write(page_file(), self.page())?;
        Ok(())
    }

    /// A line for each figure that is worse than the table's by more than the noise of both.
    pub fn worse(&self, figures: &Figures) -> Vec<String> {
        let mut lines = Vec::new();
        for now in figures.iter().map(Kept::of) {
            let Some(kept) = self.0.get(&now.key()) else {
                continue;
            };
            let by = kept.worse_by(&now);
            let noise = kept.noise().hypot(now.noise());
            if by > noise || by.is_nan() {
                lines.push(format!(
                    "{} {}: {}: {:.3} {} instead of {:.3}, worse by {by:.3}; noise {noise:.3}",
                    now.benchmark, now.case, now.measure, now.result, now.unit, kept.result
                ));
            }
        }
        lines
    }

    /// How many of the figures the table does not have.
    pub fn unknown(&self, figures: &Figures) -> usize {
        let keys = figures.iter().map(|it| Kept::of(it).key());
        keys.filter(|key| !self.0.contains_key(key)).count()
    }

    /// The page: a table for each benchmark.
    fn page(&self) -> String {
        let mut page = String::from(
            "# Figures\n\n\
             `scripts/bench --keep-figures` measures these figures and writes this page. `scripts/bench --guard` measures again, and prints \
             those that are\nworse by more than the noise of their pairs. Ratios are to the same program without the agent, in the \
             same run. Noise is\nhalf of the interval that holds the median with 95 %. It is left empty where a figure is not of \
             pairs; the guard takes 5 % there.\n",
        );
        let mut of = "";
        for kept in self.0.values() {
            if kept.benchmark != of {
                of = &kept.benchmark;
                let _ = write!(
                    page,
                    "\n## {of}\n\n| Case | Measure | Figure | Noise | Wanted |\n|---|---|---|---|---|\n"
                );
            }
            let noise = kept
                .noise
                .map_or(String::new(), |noise| format!("{noise:.3}"));
            // A ratio has the unit of what it compares.
            let unit = if kept.measure.ends_with("ratio") {
                ""
            } else {
                &kept.unit
            };
            let figure = format!("{:.3} {unit}", kept.result);
            let _ = writeln!(
                page,
                "| {} | {} | {} | {noise} | {} |",
                kept.case,
                kept.measure,
                figure.trim_end(),
                kept.wanted
            );
        }
        page
    }
}

/// A case in which versions of JDKs are cut to the feature release: another update is the same case.
fn feature_only(case: &str) -> String {
    let Some((before, after)) = case.split_once("JDK ") else {
        return case.to_owned();
    };
    let end = after
        .find(|it: char| !(it.is_ascii_digit() || "._+".contains(it)))
        .unwrap_or(after.len());
    let (version, rest) = after.split_at(end);
    let version = version.strip_prefix("1.").unwrap_or(version);
    let feature = version.split(['.', '_', '+']).next().unwrap_or(version);
    format!("{before}JDK {feature}{}", feature_only(rest))
}

fn thousandths(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::super::figures::Figure;
    use super::*;

    fn figures(result: f64, noise: Option<f64>, wanted: Wanted) -> Figures {
        let mut figures = Figures::default();
        let figure = Figure {
            benchmark: "javac",
            case: "JDK 17.0.21, interval=10".to_owned(),
            measure: "wall, ratio",
            plain: Some(1.0),
            profiled: result,
            unit: "ms",
            result,
            wanted,
        };
        figures.add_paired(figure, noise);
        figures
    }

    fn table(result: f64, noise: Option<f64>, wanted: Wanted) -> Table {
        let kept = Kept::of(figures(result, noise, wanted).iter().next().unwrap());
        Table([(kept.key(), kept)].into())
    }

    #[test]
    fn only_what_is_worse_by_more_than_noise_is_a_line() {
        let most = Wanted::AtMost(1.1);
        let kept = table(1.02, Some(0.02), most);
        assert!(kept.worse(&figures(1.04, Some(0.02), most)).is_empty());
        assert!(kept.worse(&figures(0.90, Some(0.02), most)).is_empty());
        assert_eq!(kept.worse(&figures(1.06, Some(0.02), most)).len(), 1);
        assert_eq!(kept.worse(&figures(f64::NAN, Some(0.02), most)).len(), 1);
        let least = Wanted::AtLeast(10.0);
        let kept = table(20.0, None, least);
        assert!(kept.worse(&figures(30.0, None, least)).is_empty());
        assert_eq!(kept.worse(&figures(18.0, None, least)).len(), 1);
        let within = Wanted::Within(-2.0, 2.0);
        let kept = table(0.5, Some(0.1), within);
        assert!(kept.worse(&figures(-0.5, Some(0.1), within)).is_empty());
        assert_eq!(kept.worse(&figures(-1.5, Some(0.1), within)).len(), 1);
    }

    #[test]
    fn another_update_of_a_jdk_is_the_same_case() {
        assert_eq!(feature_only("javac, JDK 17.0.21, G1"), "javac, JDK 17, G1");
        assert_eq!(feature_only("JDK 1.8.0_504"), "JDK 8");
        assert_eq!(feature_only("JDK 28 and JDK 25.0.2"), "JDK 28 and JDK 25");
        assert_eq!(feature_only("report, index used"), "report, index used");
    }

    #[test]
    fn the_page_is_of_the_table() {
        let table = Table::read(&file()).unwrap();
        assert!(!table.0.is_empty(), "no figures are kept");
        let page = fs::read_to_string(page_file()).unwrap();
        assert_eq!(page, table.page(), "run scripts/bench --keep-figures");
    }
}
