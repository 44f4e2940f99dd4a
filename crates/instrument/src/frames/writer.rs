//! Frames one after another.

use crate::bytes::Put;
use crate::error::{Malformed, MethodSkip};

/// Writes frames one after another, each with the distance to the one before.
pub(super) struct FrameWriter<'o> {
    pub out: &'o mut Vec<u8>,
    pub last_pc: Option<u32>,
    pub count: u32,
    /// Bytes before the next frame.
    pub early: Vec<u8>,
}

impl FrameWriter<'_> {
    /// The `offset_delta` of a frame at `new_pc`, which comes next.
    pub fn delta(&mut self, new_pc: u32) -> Result<u16, MethodSkip> {
        let delta = match self.last_pc {
            None => Some(new_pc),
            Some(last) => new_pc.checked_sub(last + 1),
        };
        self.last_pc = Some(new_pc);
        self.count += 1;
        self.out.append(&mut self.early);
        let delta = delta.and_then(|delta| u16::try_from(delta).ok());
        delta.ok_or(Malformed("order of stack map frames").into())
    }

    /// Starts a frame whose kind precedes its distance.
    pub fn start(&mut self, kind: u8, new_pc: u32) -> Result<(), MethodSkip> {
        let delta = self.delta(new_pc)?;
        self.out.put_u8(kind);
        self.out.put_u16(delta);
        Ok(())
    }

    /// `same_frame` or `same_locals_1_stack_item_frame`, short if possible, without the item.
    pub fn same(&mut self, new_pc: u32, items: usize) -> Result<(), MethodSkip> {
        let delta = self.delta(new_pc)?;
        let (short, extended) = if items == 0 { (0, 251) } else { (64, 247) };
        match u8::try_from(delta) {
            Ok(delta @ 0..=63) => self.out.put_u8(short + delta),
            _ => {
                self.out.put_u8(extended);
                self.out.put_u16(delta);
            }
        }
        Ok(())
    }
}
