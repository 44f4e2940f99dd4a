//! A profile as a page of its own, which shows any part of its time.

use std::path::Path;

use hprof_analysis::contents::{ReadOptions, read};
use hprof_analysis::input::Input;
use hprof_stacks::pictures::about::{About, Run};
use hprof_stacks::pictures::page::{self, Beside, Start};
use hprof_stacks::pictures::profile::{Profile, all_weights};
use hprof_stacks::pictures::times::Times;
use hprof_stacks::slow_table::{Most, SlowTable};

use super::contents::MAX_BYTES;
use crate::views::ViewError;

/// The page that `hprof-rs convert` makes of a profile.
///
/// # Errors
/// If the file cannot be read, is too large, or counted nothing.
pub fn page(path: &Path, title: &str) -> Result<String, ViewError> {
    let bytes = std::fs::metadata(path).map_err(ViewError::failed)?.len();
    if bytes > MAX_BYTES {
        return Err(ViewError::NotReady(
            "the profile is larger than 2 GiB; make the page of it with `hprof-rs convert`"
                .to_owned(),
        ));
    }
    let options = ReadOptions {
        with_heap: false,
        largest: 0,
        with_times: true,
        with_lanes: true,
        ..ReadOptions::default()
    };
    let input = Input::open(path).map_err(ViewError::failed)?;
    let contents = read(input, &options).map_err(ViewError::failed)?;
    let thread_name = |serial| contents.thread(serial)?.name.clone();
    let depth = contents.settings.map(|it| usize::from(it.depth));
    let profile = Profile {
        title,
        stacks: &contents.stacks,
        weights: all_weights(&contents),
        thread_name: &thread_name,
        remarks: &contents.comments,
        own: None,
        depth,
    };
    let views = profile.page_views();
    if views.is_empty() {
        return Err(ViewError::missing("the profile counted nothing"));
    }
    let run = Run {
        file: title,
        remarks: &contents.comments,
        stacks: Some(&contents.stacks),
        depth,
        duration: None,
    };
    let about = About::of(&run, &contents);
    let times = contents.timeline.as_ref().map(|timeline| Times {
        pauses: contents.pauses.clone(),
        safepoints: contents.recorded_threads.safepoints.clone(),
        lanes: contents.lanes(timeline.span),
        ..Times::of(timeline, timeline.span, &contents.stacks, &thread_name)
    });
    let beside = Beside {
        times: times.as_ref(),
        slow: SlowTable::of(&contents.slow, &contents.call_strips(), Most::OF_PAGES),
        ..Beside::default()
    };
    Ok(page::html_with(&about, &views, Start::default(), &beside))
}
