//! The frames of single places in code, without a walk.

use super::{Frame, Walker};
use crate::code::{self, Kind};
use crate::memory::Memory;
use crate::{Heaps, NATIVE, method, nmethod};

impl Walker {
    /// Hands the frames that a return address in a compiled method stands for to `receive`, innermost first, until that
    /// returns false: those of methods inlined there, and the method's own. `None` where the method has no record of
    /// exactly this address, as where frames that are due for deoptimization return to; some may have been handed over.
    pub fn frames_at<M: Memory>(
        &self,
        memory: &M,
        heaps: &Heaps,
        pc: usize,
        receive: &mut impl FnMut(Frame) -> bool,
    ) -> Option<()> {
        let blob = code::find(memory, heaps, &self.layout.blob, &self.names, pc)?;
        let layout = &self.layout.nmethod;
        match blob.kind {
            Kind::Method => {
                if !nmethod::has_record(memory, layout, &blob, pc)? {
                    return None;
                }
                let mut is_good = true;
                nmethod::frames(memory, layout, &blob, pc, |method, index| {
                    let frame = self.frame(memory, method, index);
                    is_good = frame.is_some();
                    frame.is_some_and(&mut *receive)
                })?;
                is_good.then_some(())
            }
            Kind::Native => {
                let method = memory.word(blob.address, layout.method)?;
                receive(self.frame(memory, method, NATIVE)?);
                Some(())
            }
            _ => None,
        }
    }

    /// The frame of an interpreted method that is at the bytecode with this address. `None` when these are none.
    pub fn interpreted_frame<M: Memory>(
        &self,
        memory: &M,
        method: usize,
        bytecode: usize,
    ) -> Option<Frame> {
        let location = match method::is_native(memory, &self.layout.method, method)? {
            true => NATIVE,
            false => method::bytecode_index(memory, &self.layout.method, method, bytecode)?,
        };
        self.frame(memory, method, location)
    }

    fn frame<M: Memory>(&self, memory: &M, method: usize, location: i32) -> Option<Frame> {
        let method_id = method::id(memory, &self.layout.method, method)?;
        Some(Frame {
            method_id,
            location,
        })
    }
}
