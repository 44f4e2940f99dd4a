//! Which modes this version does not have yet: none at present.
//!
//! A mode that is parsed but not built must refuse to start: a run that ends
//! without the profile asked for is worse than one that does not begin. Building
//! a mode means deleting its row here; the help text and the README follow.

use super::error::{Cause, OptionError};
use super::resolve::Settings;
use super::table::{Kind, OptionSpec};

/// What an option can do in this version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// All of it.
    Full,
    /// Everything but these values.
    Without(Vec<&'static str>),
    /// Nothing.
    None,
}

/// A mode that is not built.
pub struct Unbuilt {
    /// The option.
    pub option: &'static str,
    /// Its value, as the option's description has it.
    pub value: &'static str,
    /// What works instead, as the end of a sentence.
    pub instead: &'static str,
    /// Whether the settings ask for it.
    pub asked: fn(&Settings) -> bool,
}

/// Rows that cover others come first, so that the refusal names what was
/// written.
static UNBUILT: &[Unbuilt] = &[];

/// Refuses settings that ask for something this version does not have.
#[must_use]
pub fn unbuilt_modes(settings: &Settings) -> Option<OptionError> {
    let unbuilt = UNBUILT.iter().find(|row| (row.asked)(settings))?;
    let what = format!("{}={}", unbuilt.option, unbuilt.value);
    let instead = unbuilt.instead;
    Some(Cause::NotBuilt { what, instead }.into())
}

/// What `spec` can do in this version.
#[must_use]
pub fn availability(spec: &OptionSpec) -> Availability {
    let missing: Vec<_> = UNBUILT
        .iter()
        .filter(|row| row.option == spec.name)
        .map(|row| row.value)
        .collect();
    if missing.is_empty() {
        return Availability::Full;
    }
    match spec.kind {
        Kind::Choice(choices) if choices.iter().any(|choice| !missing.contains(&choice.word)) => {
            Availability::Without(missing)
        }
        _ => Availability::None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    #[test]
    fn every_row_names_an_option_and_one_of_its_values() {
        for row in UNBUILT {
            let spec = table::find(row.option).expect(row.option);
            match spec.kind {
                Kind::Choice(choices) => {
                    assert!(
                        choices.iter().any(|choice| choice.word == row.value),
                        "{}",
                        row.value
                    );
                }
                Kind::Switch(_) => assert_eq!(row.value, "y"),
                _ => assert_eq!(row.value, spec.value),
            }
        }
    }

    #[test]
    fn options_without_a_row_are_fully_available() {
        let spec = table::find("interval").expect("interval");
        assert_eq!(availability(spec), Availability::Full);
    }
}
