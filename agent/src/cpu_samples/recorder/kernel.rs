//! Lines about frames of the kernel that samples lack although `cstack=y` asks for them.

use super::SamplesRecorder;
use crate::cpu_samples::engine::Engine;
use crate::os::kernel_stacks;
use crate::os::perf_event::KernelStacks;
use crate::report;

/// Gaps in these frames that were reported.
#[derive(Default)]
pub(super) struct Said {
    nameless: bool,
    refused: usize,
}

impl SamplesRecorder {
    /// Says at the start that no sample will have frames of the kernel, where the kernel forbids that.
    pub(super) fn note_no_kernel_stacks(&self) {
        kernel_stacks::begin();
        let Engine::Signal(engine, _) = self.sampling.engine() else {
            return;
        };
        match engine.kernel_stacks() {
            KernelStacks::None | KernelStacks::Given => {}
            KernelStacks::Forbidden => report::note(&format!(
                "stacks have no frames of the kernel (kernel.perf_event_paranoid is {}): set it to 1, or give the process \
                 CAP_PERFMON",
                setting("perf_event_paranoid"),
            )),
            KernelStacks::NoBuffer(code) => report::note(&format!(
                "stacks have no frames of the kernel, as it gives no buffer for them ({}): raise kernel.perf_event_mlock_kb, which \
                 is {}",
                std::io::Error::from_raw_os_error(code),
                setting("perf_event_mlock_kb"),
            )),
        }
    }

    /// Says, each once, what came to light while samples were taken.
    pub(super) fn note_kernel_gaps(&mut self) {
        if self.symbols.has_nameless_kernel() && !self.kernel_said.nameless {
            self.kernel_said.nameless = true;
            let restricted = setting("kptr_restrict");
            // At 0 the kernel shows addresses to those who may profile it (`kallsyms_show_value` in its kallsyms.c).
            let remedy = match restricted.as_str() {
                "0" => "set kernel.perf_event_paranoid to 1",
                _ => "set it to 0",
            };
            report::note(&format!(
                "functions of the kernel have no names (kernel.kptr_restrict is {restricted}): {remedy}, or give the process \
                 CAP_SYSLOG"
            ));
        }
        let refused = kernel_stacks::refused();
        if refused > self.kernel_said.refused {
            self.kernel_said.refused = refused;
            let threads = if refused == 1 {
                "thread has"
            } else {
                "threads have"
            };
            report::note(&format!(
                "{refused} {threads} no frames of the kernel, as it gives no more buffers for them: raise \
                 kernel.perf_event_mlock_kb, which is {}",
                setting("perf_event_mlock_kb"),
            ));
        }
    }
}

/// The value of a setting of the kernel.
fn setting(name: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
    match text.trim() {
        "" => "unknown".to_owned(),
        text => text.to_owned(),
    }
}
