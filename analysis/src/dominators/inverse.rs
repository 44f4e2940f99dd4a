//! From objects to their numbers, where numbers lead to objects.

use std::io;

use zerocopy::{FromBytes, IntoBytes};

use super::pairs::Pairs;
use crate::graph::{Array, Number, Store};
use crate::parallel;

/// Numbers in one task.
const TASK: usize = 1 << 18;
/// Objects whose numbers fit into little memory: 16 or 32 megabytes.
const RANGE_SHIFT: u32 = 22;

/// By object, of which there are `count`: its place in `objects`, from 1 on; 0 if it is not there.
///
/// # Errors
/// If the store has no room.
pub(super) fn inverse<N: Number>(
    objects: &[N],
    count: usize,
    store: &Store,
    threads: usize,
) -> io::Result<Array<N>> {
    let mut number = store.zeros::<N>(count)?;
    if !store.has_room_for(size_of_val(&*number)) {
        by_ranges(objects, &mut number, store, RANGE_SHIFT)?;
        return Ok(number);
    }
    let places = <[N::Atomic]>::mut_from_bytes(number.as_mut_bytes());
    let places: &[N::Atomic] = places.map_or(&[], |places| places);
    parallel::run(threads, objects.len().div_ceil(TASK), |tasks| {
        for task in tasks {
            let first = TASK * task;
            for (own, object) in (first + 1..).zip(objects[first..].iter().take(TASK)) {
                N::store(&places[object.get()], N::of(own));
            }
        }
    });
    Ok(number)
}

/// Sorts objects by ranges first, so that only the numbers of one range at a time are touched here
/// and there: more would not stay in limited memory, and each would bring a page back.
fn by_ranges<N: Number>(
    objects: &[N],
    number: &mut [N],
    store: &Store,
    shift: u32,
) -> io::Result<()> {
    let mut ranges: Vec<Pairs<N>> = Vec::new();
    ranges.resize_with((number.len() >> shift) + 1, Pairs::new);
    for (own, &object) in (1..).zip(objects) {
        ranges[object.get() >> shift].push(store, [object, N::of(own)])?;
    }
    for range in ranges {
        for [object, own] in range.iter() {
            number[object.get()] = own;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_give_each_object_its_place() {
        // 7 and 1,000 have no common divisor, so each object comes once; every other one is left out.
        let objects: Vec<u32> = (0..500).map(|at| at * 7 % 1000).collect();
        let mut wanted = vec![0u32; 1000];
        for (own, &object) in (1..).zip(&objects) {
            wanted[object as usize] = own;
        }
        let store = Store::memory();
        let at_once = inverse(&objects, 1000, &store, 2).unwrap();
        assert_eq!(*at_once, wanted);
        let mut ranges = vec![0u32; 1000];
        by_ranges(&objects, &mut ranges, &store, 6).unwrap();
        assert_eq!(ranges, wanted);
    }
}
