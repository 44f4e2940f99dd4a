//! Where each instruction of a method goes when hooks are inserted.
//!
//! Only the instructions at which something happens are listed, the [`Site`]s: returns, branches,
//! switches, and the first instruction of each exception handler. Between them code is copied as
//! it is. A table with one word for each old address gives the new one.

use crate::allocations::Made;
use crate::bytes::{i32_at, u16_at};
use crate::error::{Malformed, MethodSkip};
use crate::method::Code;
use crate::opcode;
use crate::plan::Shape;

/// Marks, in the table of addresses, those where an instruction starts.
const START: u32 = 1 << 31;
/// Length of a `goto_w`.
const ISLAND_LEN: u32 = 5;
/// How far away an island is looked for, less than a branch reaches since code may still grow.
const ISLAND_REACH: u32 = 32_000;

/// Lengths of the inserted code.
#[derive(Clone, Copy)]
pub(crate) struct HookLengths {
    pub(crate) prologue: u32,
    pub(crate) exit: u32,
    pub(crate) repair: u32,
    /// After an instruction that makes an object.
    pub(crate) made: u32,
}

/// The kind of an instruction, where its layout depends on its place or its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SiteKind {
    /// Nothing but being the start of a handler.
    Plain,
    Return,
    /// A branch with an offset of 16 bits, to this old address.
    Branch {
        target: u32,
        reach: Reach,
    },
    /// `goto_w` or `jsr_w`.
    WideBranch {
        target: u32,
    },
    Switch,
    /// It makes an object, for which something is called afterwards.
    Allocation(Made),
}

/// How a branch with an offset of 16 bits gets to its target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    Direct,
    /// As `goto_w` or `jsr_w`, for `goto` and `jsr`.
    Wide,
    /// Over an island at this old address.
    Island(u32),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    /// Old address.
    pub(crate) pc: u32,
    /// Old length.
    pub(crate) len: u32,
    pub(crate) starts_handler: bool,
    pub(crate) kind: SiteKind,
    /// New address of the instruction, after the code inserted before it.
    pub(crate) new_pc: u32,
}

/// A `goto_w` between two old instructions, where control does not flow from the first to the second.
///
/// A conditional branch that got too long takes this way, because inverting the condition and
/// jumping over a `goto_w` would need a stack map frame after it, which only type inference could
/// give. The frame of an island is that of its target.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Island {
    /// The old address before which it is inserted.
    pub(crate) before: u32,
    /// Old address it leads to.
    pub(crate) target: u32,
}

/// The new addresses of one method; its memory is kept from method to method.
#[derive(Default)]
pub(crate) struct Layout {
    addresses: Vec<u32>,
    sites: Vec<Site>,
    islands: Vec<Island>,
    handlers: Vec<u16>,
    new_len: u32,
}

impl Layout {
    /// Reads `code` and decides where everything goes.
    ///
    /// `made` tells of an instruction whether it makes an object, by its address.
    pub(crate) fn compute(
        &mut self,
        code: &Code<'_>,
        shape: Shape,
        lengths: HookLengths,
        made: impl Fn(usize) -> Option<Made>,
    ) -> Result<(), MethodSkip> {
        self.scan(code, shape, made)?;
        loop {
            self.place(code.bytes, lengths);
            if self.new_len > u32::from(u16::MAX) {
                return Err(MethodSkip::CodeTooLarge);
            }
            // Each round makes at least one branch longer, and none is made shorter again.
            if !self.widen(code)? {
                return Ok(());
            }
        }
    }

    /// Lists the sites.
    fn scan(
        &mut self,
        code: &Code<'_>,
        shape: Shape,
        made: impl Fn(usize) -> Option<Made>,
    ) -> Result<(), MethodSkip> {
        let full = shape == Shape::Full;
        let exits = full || shape == Shape::Around;
        self.sites.clear();
        self.islands.clear();
        self.handlers.clear();
        if full {
            self.handlers
                .extend(code.exceptions().map(|[_, _, handler, _]| handler));
            self.handlers.sort_unstable();
            self.handlers.dedup();
        }
        let bytes = code.bytes;
        self.addresses.clear();
        self.addresses.resize(bytes.len() + 1, 0);
        let mut handlers = self.handlers.iter().map(|&pc| usize::from(pc)).peekable();
        let mut pc = 0;
        while let Some(&opcode) = bytes.get(pc) {
            self.addresses[pc] = START;
            let starts_handler = handlers.next_if_eq(&pc).is_some();
            let len = opcode::length(bytes, pc)?;
            let kind = match opcode {
                opcode::IRETURN..=opcode::RETURN if exits => SiteKind::Return,
                opcode::IFEQ..=opcode::JSR | opcode::IFNULL | opcode::IFNONNULL => {
                    let offset = u16_at(bytes, pc + 1).ok_or(Malformed::TRUNCATED)? as i16;
                    let target = target(pc, i32::from(offset), bytes.len())?;
                    SiteKind::Branch {
                        target,
                        reach: Reach::Direct,
                    }
                }
                opcode::GOTO_W | opcode::JSR_W => {
                    let offset = i32_at(bytes, pc + 1).ok_or(Malformed::TRUNCATED)?;
                    SiteKind::WideBranch {
                        target: target(pc, offset, bytes.len())?,
                    }
                }
                opcode::TABLESWITCH | opcode::LOOKUPSWITCH => SiteKind::Switch,
                _ => made(pc).map_or(SiteKind::Plain, SiteKind::Allocation),
            };
            if starts_handler || kind != SiteKind::Plain {
                let (pc, len) = (pc as u32, len as u32);
                self.sites.push(Site {
                    pc,
                    len,
                    starts_handler,
                    kind,
                    new_pc: 0,
                });
            }
            pc += len;
        }
        if pc != bytes.len() {
            return Err(Malformed("last instruction is cut off").into());
        }
        if handlers.next().is_some() {
            return Err(Malformed("handler inside an instruction").into());
        }
        Ok(())
    }

    /// Computes the new addresses, with branches as long as they are now known to be.
    fn place(&mut self, code: &[u8], lengths: HookLengths) {
        let Self {
            addresses,
            sites,
            islands,
            ..
        } = self;
        let mut islands = islands.iter().peekable();
        // How much further everything is, modulo 2^32: code may shrink by less padding.
        let mut shift = lengths.prologue;
        let mut next = 0;
        // Gives addresses to all bytes up to and with `last`, which starts an instruction.
        let mut copy_up_to = |addresses: &mut [u32], next: usize, last: usize, shift: &mut u32| {
            let mut next = next;
            while let Some(island) = islands.next_if(|island| island.before as usize <= last) {
                fill(addresses, next, island.before as usize, *shift);
                next = island.before as usize;
                *shift = shift.wrapping_add(ISLAND_LEN);
            }
            fill(addresses, next, last + 1, *shift);
        };
        for site in sites {
            let (pc, end) = (site.pc as usize, (site.pc + site.len) as usize);
            copy_up_to(addresses, next, pc, &mut shift);
            let inserted = site.inserted_len(lengths);
            site.new_pc = site.pc.wrapping_add(shift).wrapping_add(inserted);
            let new_len = match site.kind {
                SiteKind::Branch {
                    reach: Reach::Wide, ..
                } => 5,
                SiteKind::Switch => {
                    let old_padding = (pc as u32 & !3) + 4 - site.pc;
                    let padding = (site.new_pc & !3) + 4 - site.new_pc;
                    site.len - old_padding + padding
                }
                SiteKind::Allocation(_) => site.len + lengths.made,
                _ => site.len,
            };
            addresses[pc + 1..end].fill(site.new_pc);
            shift = (site.new_pc + new_len).wrapping_sub(end as u32);
            next = end;
        }
        copy_up_to(addresses, next, code.len(), &mut shift);
        self.new_len = (code.len() as u32).wrapping_add(shift);
    }

    /// Makes branches longer that do not reach their targets; whether there was one.
    fn widen(&mut self, code: &Code<'_>) -> Result<bool, MethodSkip> {
        if self.new_len <= i16::MAX as u32 {
            return Ok(false);
        }
        let mut changed = false;
        let mut places = None;
        for index in 0..self.sites.len() {
            let site = self.sites[index];
            let SiteKind::Branch { target, reach } = site.kind else {
                continue;
            };
            let new_target = match reach {
                Reach::Wide => continue,
                Reach::Direct => self.branch_target(target)?,
                Reach::Island(before) => self.island_address(Island { before, target }),
            };
            if fits_branch(site.new_pc, new_target) {
                continue;
            }
            let reach = match code.bytes.get(site.pc as usize) {
                Some(&(opcode::GOTO | opcode::JSR)) => Reach::Wide,
                _ if reach != Reach::Direct => return Err(MethodSkip::BranchTooFar),
                _ => {
                    let places = places.get_or_insert_with(|| island_places(code));
                    let before = self
                        .nearest(places, site.new_pc)
                        .filter(|(_, distance)| *distance <= ISLAND_REACH)
                        .map(|(before, _)| before)
                        .ok_or(MethodSkip::BranchTooFar)?;
                    let island = Island { before, target };
                    if let Err(at) = self.islands.binary_search(&island) {
                        self.islands.insert(at, island);
                    }
                    Reach::Island(before)
                }
            };
            self.sites[index].kind = SiteKind::Branch { target, reach };
            changed = true;
        }
        Ok(changed)
    }

    /// The place nearest to a new address, and how far it is.
    fn nearest(&self, places: &[u32], new_pc: u32) -> Option<(u32, u32)> {
        let distance = |&place: &u32| (place, self.address(place).abs_diff(new_pc));
        places
            .iter()
            .map(distance)
            .min_by_key(|(_, distance)| *distance)
    }

    fn address(&self, pc: u32) -> u32 {
        self.addresses
            .get(pc as usize)
            .map_or(0, |address| address & !START)
    }

    /// The new address of the code inserted before `pc`, or of its instruction where there is
    /// none: where branches and handlers to `pc` go. The prologue comes before all of them.
    pub(crate) fn branch_target(&self, pc: u32) -> Result<u32, Malformed> {
        match self.addresses.get(pc as usize) {
            Some(address) if address & START != 0 => Ok(address & !START),
            _ => Err(Malformed("branch into an instruction")),
        }
    }

    /// The new address of the instruction at `pc` itself.
    pub(crate) fn instruction(&self, pc: u32) -> Result<u32, Malformed> {
        match self.sites.binary_search_by_key(&pc, |site| site.pc) {
            Ok(site) => Ok(self.sites[site].new_pc),
            Err(_) => self.branch_target(pc),
        }
    }

    /// The new address for an old one that may be anywhere, as in tables for debuggers. Address 0
    /// stays, so that the prologue belongs to the first line.
    pub(crate) fn debug_address(&self, pc: u32) -> u32 {
        if pc == 0 {
            0
        } else {
            self.address(pc).min(self.new_len)
        }
    }

    /// The new end for the old exclusive end of an exception range.
    pub(crate) fn range_end(&self, pc: u32) -> Result<u32, Malformed> {
        let end = match pc as usize == self.addresses.len() - 1 {
            true => self.address(pc),
            false => self.branch_target(pc)?,
        };
        // Islands are in no range.
        Ok(end - ISLAND_LEN * self.islands_before(pc).len() as u32)
    }

    /// The islands put before an old address, in their order.
    pub(crate) fn islands_before(&self, pc: u32) -> &[Island] {
        let first = self.islands.partition_point(|island| island.before < pc);
        let end = self.islands.partition_point(|island| island.before <= pc);
        &self.islands[first..end]
    }

    /// The new address of an island.
    pub(crate) fn island_address(&self, island: Island) -> u32 {
        let group = self.islands_before(island.before);
        let behind = group.iter().filter(|other| **other >= island).count() as u32;
        self.address(island.before) - ISLAND_LEN * behind
    }

    pub(crate) fn islands(&self) -> &[Island] {
        &self.islands
    }

    pub(crate) fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// The length of the new code.
    pub(crate) fn new_len(&self) -> u32 {
        self.new_len
    }
}

impl Site {
    pub(crate) fn inserted_len(&self, lengths: HookLengths) -> u32 {
        let repair = if self.starts_handler {
            lengths.repair
        } else {
            0
        };
        let exit = if self.kind == SiteKind::Return {
            lengths.exit
        } else {
            0
        };
        repair + exit
    }
}

fn fill(addresses: &mut [u32], from: usize, to: usize, shift: u32) {
    let mut new = (from as u32).wrapping_add(shift);
    for address in &mut addresses[from..to] {
        *address = (*address & START) | (new & !START);
        new = new.wrapping_add(1);
    }
}

fn target(pc: usize, offset: i32, len: usize) -> Result<u32, Malformed> {
    let target = pc as i64 + i64::from(offset);
    u32::try_from(target)
        .ok()
        .filter(|&target| (target as usize) < len)
        .ok_or(Malformed("branch out of the method"))
}

/// Returns whether 16 bits hold the offset of a branch.
fn fits_branch(from: u32, to: u32) -> bool {
    i16::try_from(i64::from(to) - i64::from(from)).is_ok()
}

/// The old addresses before which an island may be put: where control does not come from the
/// instruction before, and inside no exception range, whose handler could not stand its frame.
fn island_places(code: &Code<'_>) -> Vec<u32> {
    let mut places = Vec::new();
    let mut pc = 0;
    while let Ok(len) = opcode::length(code.bytes, pc) {
        let ends_flow = opcode::ends_flow(code.bytes[pc]);
        pc += len;
        let in_range =
            |[start, end, _, _]: [u16; 4]| (usize::from(start) + 1..usize::from(end)).contains(&pc);
        if ends_flow && !code.exceptions().any(in_range) {
            places.push(pc as u32);
        }
    }
    places
}
