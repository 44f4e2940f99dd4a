//! The rules of dumps in the catalogue.

use super::{MAX_RULES, Rule, Verdict, judge};
use crate::catalogue::{Dump, DumpKind, JobState};
use crate::ids::DumpId;
use crate::problem::Problem;
use crate::state::AppState;
use crate::views::report::Report;

impl AppState {
    /// Gives a dump rules in the place of those that it has, and judges them if its job is done.
    /// Blocks.
    ///
    /// # Errors
    /// If the catalogue fails, or there are too many.
    pub fn set_rules(&self, id: &DumpId, rules: &[Rule]) -> Result<(), Problem> {
        if rules.len() > MAX_RULES {
            let detail = format!("a dump has at most {MAX_RULES} rules");
            return Err(Problem::bad_request(detail));
        }
        let open: Vec<Verdict> = rules.iter().map(Verdict::open).collect();
        self.catalogue().set_rules(id, &open, None)?;
        self.judge(id)
    }

    /// Judges the rules of a dump that are open, if its job is done. Blocks.
    ///
    /// # Errors
    /// If the catalogue fails.
    pub fn judge(&self, id: &DumpId) -> Result<(), Problem> {
        let Some(mut dump) = self.catalogue().dump(id)? else {
            return Ok(());
        };
        self.judge_in(&mut dump)
    }

    /// As [`AppState::judge`], and shows the verdicts in the dump. Blocks.
    ///
    /// # Errors
    /// If the catalogue fails.
    pub fn judge_in(&self, dump: &mut Dump) -> Result<(), Problem> {
        let is_done = dump
            .job
            .as_ref()
            .is_some_and(|job| job.state == JobState::Done);
        let is_open = dump.rules.iter().any(|verdict| verdict.passed.is_none());
        if !is_done || !is_open {
            return Ok(());
        }
        let report = match dump.kind {
            DumpKind::Heap => match self.analysis(&dump.id) {
                Ok(analysis) => Report::read(&analysis.report),
                Err(problem) => Err(problem.detail),
            },
            _ => Err("this is no heap dump, and rules are about heap dumps".to_owned()),
        };
        let verdict = |open: &Verdict| {
            let judged = open.rule.parse::<Rule>().and_then(|rule| {
                let report = report.as_ref().map_err(Clone::clone)?;
                Ok(judge(&rule, report))
            });
            judged.unwrap_or_else(|reason| Verdict {
                rule: open.rule.clone(),
                passed: Some(false),
                sentence: Some(format!("{reason}.")),
            })
        };
        let judged: Vec<Verdict> = dump.rules.iter().map(verdict).collect();
        // Others may have judged them, or set other rules, meanwhile.
        let is_set = self
            .catalogue()
            .set_rules(&dump.id, &judged, Some(&dump.rules))?;
        let rules = match is_set {
            true => Some(judged),
            false => self.catalogue().dump(&dump.id)?.map(|now| now.rules),
        };
        if let Some(rules) = rules {
            if let Some(job) = &mut dump.job {
                job.rules.clone_from(&rules);
            }
            dump.rules = rules;
        }
        Ok(())
    }
}
