//! Walks over the sub-records of a snapshot's dump, on all cores.

use std::convert::Infallible;

use hprof_format::binary::SubRecord;

use super::Snapshot;
use crate::parallel::Tasks;
use crate::walk::Pass;

/// The sub-records that one thread visits.
pub(crate) struct ThreadSubRecords<'a, 'p> {
    snapshot: &'a Snapshot,
    pass: Pass<'p>,
    tasks: Tasks<'a>,
}

impl ThreadSubRecords<'_, '_> {
    /// Visits them.
    #[inline]
    pub fn each(self, mut visit: impl FnMut(&SubRecord<'_>)) {
        let graph = self.snapshot.graph();
        let (file, id_size) = (self.snapshot.file(), graph.id_size());
        for task in self.tasks {
            let Ok::<(), Infallible>(()) =
                self.pass
                    .runs(file, id_size, graph.blocks(), task, |sub_record| {
                        visit(sub_record);
                        Ok(())
                    });
        }
    }
}

impl Snapshot {
    /// Runs `work` on each thread, which visits a part of the dump's sub-records.
    pub(crate) fn each_thread<P: Send>(
        &self,
        work: impl Fn(ThreadSubRecords<'_, '_>) -> P + Sync,
    ) -> Vec<P> {
        let pass = Pass {
            threads: 0,
            progress: &|_| {},
            forget: &|range| crate::input::forget(&self.file, range),
        };
        pass.run(Pass::tasks_of(self.graph.blocks()), |tasks| {
            work(ThreadSubRecords {
                snapshot: self,
                pass,
                tasks,
            })
        })
    }
}
