//! Classes that are loaded already: sent through the class-file hook, they get hooks or lose them.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::counter::CallTimes;
use super::java_side::THREAD_SIGNATURE;
use super::rewriting::{Rewriting, Steps};
use crate::recording::{Run, STEP, StartWatch};
use crate::report;
use crate::vm::{Class, GlobalRef, Jni, Jvmti, LocalRef, Ref, Result, VmLibrary, VmStructs};

/// The thread that rewrites half of the classes when the VM starts.
const HELPER: &str = "HPROF rewriting";
/// Longest wait for it. It takes some hundredths of a second, but may not run.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// True if the VM was started with this agent alone. Those of others run Java code while classes are loaded,
/// linked or retransformed.
fn is_alone(jvmti: &Jvmti) -> bool {
    let structs = VmLibrary::of(jvmti).and_then(VmStructs::of);
    structs.and_then(VmStructs::agents_at_start) == Some(1)
}

impl CallTimes {
    /// Sends the classes through the hook that the VM has started with, before the program runs.
    pub(super) fn rewrite_at_start(&'static self, run: &'static Run, jni: &Jni) {
        let jvmti = &run.jvmti;
        let jni = &*jni.large_local_frame();
        let loaded = self.loaded(jvmti, jni);
        let classes = loaded.iter().map(LocalRef::get);
        let classes = classes.filter(|&class| self.wanted(jvmti, class).is_some());
        // Classes have default methods of interfaces in their tables: they come when those are done.
        let (interfaces, others): (Vec<_>, Vec<_>) =
            classes.partition(|&class| jvmti.is_interface(class));
        self.starting.store(true, Ordering::Relaxed);
        self.retransform(jvmti, &interfaces, &mut Rewriting::default());
        if is_alone(jvmti) {
            let runs_no_java = |&class: &Ref<'_, Class>| {
                let loader = jvmti.class_loader(jni, class);
                loader.is_ok_and(|loader| loader.is_none())
            };
            let (of_vm, others): (Vec<_>, Vec<_>) = others.into_iter().partition(runs_no_java);
            self.retransform_on_two(run, jni, &of_vm);
            self.retransform(jvmti, &others, &mut Rewriting::default());
        } else {
            self.retransform_beside_others(jvmti, &others);
        }
        self.starting.store(false, Ordering::Relaxed);
    }

    /// Retransforms in steps, and gives up when it takes too long: code of another agent may run for each class.
    fn retransform_beside_others(&self, jvmti: &Jvmti, classes: &[Ref<'_, Class>]) {
        let watch = StartWatch::begin("cpu=times");
        for (index, step) in classes.chunks(STEP).enumerate() {
            if watch.gives_up("calls", classes.len() - index * STEP) {
                return;
            }
            self.retransform(jvmti, step, &mut Rewriting::default());
        }
    }

    /// Retransforms on two threads, where they run side by side: the VM parses, verifies and links each class on its
    /// own (`VM_RedefineClasses::lock_classes`), and stops the program only to put them in place.
    ///
    /// Neither thread may run Java code meanwhile: it would take locks that the other needs, which waits for it. So
    /// `classes` are those of the VM's own loader, which are not verified, and no other agent transforms them.
    fn retransform_on_two(&'static self, run: &'static Run, jni: &Jni, classes: &[Ref<'_, Class>]) {
        let jvmti = &run.jvmti;
        // Every other one, as those of a kind are near each other.
        let nth = |first| classes.iter().copied().skip(first).step_by(2);
        let half = nth(1).map(|class| Ok(jni.new_global(class)?));
        let half: Result<Vec<GlobalRef<Class>>> = half.collect();
        let (done, is_done) = mpsc::channel();
        // Without a helper, all are left to this thread.
        let _ = half.and_then(|half| {
            run.start_own(jni, HELPER, move |_| {
                let classes: Vec<_> = half.iter().map(GlobalRef::get).collect();
                self.retransform(&run.jvmti, &classes, &mut Rewriting::default());
                // The thread that waits may have given up.
                let _ = done.send(());
            })
        });
        let own: Vec<_> = nth(0).collect();
        self.retransform(jvmti, &own, &mut Rewriting::default());
        match is_done.recv_timeout(MAX_WAIT) {
            Ok(()) => {}
            // A helper that was not started, or has panicked, has dropped its end.
            Err(RecvTimeoutError::Disconnected) => {
                let other: Vec<_> = nth(1).collect();
                self.retransform(jvmti, &other, &mut Rewriting::default());
            }
            Err(RecvTimeoutError::Timeout) => report::error(
                "the thread that rewrites classes does not run: calls of classes that are loaded \
                 may not be counted",
            ),
        }
    }

    /// Sends all classes of a running program through the hook, in steps.
    pub(super) fn rewrite_all(&self, jvmti: &Jvmti, jni: &Jni) {
        let mut seen = HashSet::new();
        let mut steps = Steps::default();
        let mut all = self.rewrite_unseen(jvmti, jni, &mut steps, &mut seen);
        // Once more for those that were being loaded, past the hook, at the beginning.
        let more = self.rewrite_unseen(jvmti, jni, &mut steps, &mut seen);
        all.classes += more.classes;
        all.steps += more.steps;
        all.longest = all.longest.max(more.longest);
        all.total += more.total;
        *self.rewriting.lock() = Some(all);
    }

    /// Sends the loaded classes through the hook that are not among those `seen`.
    fn rewrite_unseen(
        &self,
        jvmti: &Jvmti,
        jni: &Jni,
        steps: &mut Steps,
        seen: &mut HashSet<(i32, String)>,
    ) -> Rewriting {
        let mut rewriting = Rewriting::default();
        let jni = &*jni.large_local_frame();
        let loaded = self.loaded(jvmti, jni);
        let mut is_new = |class: Ref<'_, Class>| {
            let hash = || jvmti.object_hash(class.as_object()).unwrap_or(0);
            self.wanted(jvmti, class)
                .is_some_and(|signature| seen.insert((hash(), signature)))
        };
        let classes = loaded.iter().map(LocalRef::get);
        let classes: Vec<_> = classes.filter(|&class| is_new(class)).collect();
        // A second time, most are classes that have hooks and are counted since they were loaded.
        let first = seen.len() == classes.len();
        self.starting.store(first, Ordering::Relaxed);
        let mut left = &classes[..];
        while !left.is_empty() {
            let (step, behind) = left.split_at(steps.size().min(left.len()));
            let took = self.retransform(jvmti, step, &mut rewriting);
            steps.learn(took);
            left = behind;
        }
        self.starting.store(false, Ordering::Relaxed);
        rewriting
    }

    fn loaded<'a>(&self, jvmti: &Jvmti, jni: &'a Jni) -> Vec<LocalRef<'a, Class>> {
        jvmti.loaded_classes(jni).unwrap_or_else(|_| {
            report::error(
                "the VM does not list its classes: calls of those that are loaded are not counted",
            );
            Vec::new()
        })
    }

    /// The signature of a class that may get hooks.
    fn wanted(&self, jvmti: &Jvmti, class: Ref<'_, Class>) -> Option<String> {
        if !jvmti.is_modifiable(class) || jvmti.is_interface_without_code(class) {
            return None;
        }
        let signature = jvmti.class_signature(class).ok()?;
        let name = signature.strip_prefix('L')?.strip_suffix(';')?;
        let is_chosen = self.methods.lock().chooses(name.as_bytes());
        (is_chosen || signature == THREAD_SIGNATURE).then_some(signature)
    }

    /// Retransforms in one go, or, where the VM refuses, in two halves. Returns how long the first
    /// attempt has taken.
    fn retransform(
        &self,
        jvmti: &Jvmti,
        classes: &[Ref<'_, Class>],
        rewriting: &mut Rewriting,
    ) -> Duration {
        if classes.is_empty() {
            return Duration::ZERO;
        }
        let began = Instant::now();
        let done = jvmti.retransform(classes).is_ok();
        let took = began.elapsed();
        rewriting.steps += 1;
        rewriting.longest = rewriting.longest.max(took);
        rewriting.total += took;
        match classes {
            _ if done => rewriting.classes += classes.len(),
            [_] => {
                self.refused.fetch_add(1, Ordering::Relaxed);
            }
            _ => {
                let (first, second) = classes.split_at(classes.len() / 2);
                self.retransform(jvmti, first, rewriting);
                self.retransform(jvmti, second, rewriting);
            }
        }
        took
    }
}
