use super::*;
use proptest::prelude::*;

fn check(ids: &[u64], others: &[u64], plan: IdPlan) -> Result<(), TestCaseError> {
    let mut parts = [IdCollector::new(plan), IdCollector::new(plan)];
    for (index, &id) in ids.iter().enumerate() {
        parts[index % 2].add(id);
    }
    let Some(map) = IdMap::new(parts.into()) else {
        prop_assert_ne!(plan, IdPlan::Sorted);
        return Ok(());
    };
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    prop_assert_eq!(map.len(), sorted.len());
    for (number, &id) in sorted.iter().enumerate() {
        prop_assert_eq!(map.number(id), Some(number));
        prop_assert_eq!(map.id(number), id);
    }
    for id in others {
        prop_assert_eq!(map.number(*id), sorted.binary_search(id).ok());
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_plan_numbers_in_order(
        dense in prop::collection::vec(0u64..200_000, 0..200),
        base in prop_oneof![Just(0u64), Just(0x7_0000_0000), any::<u64>()],
        wild in prop::collection::vec(any::<u64>(), 0..3),
        scale in prop_oneof![Just(1u64), Just(8)],
    ) {
        let mut ids: Vec<u64> =
            dense.iter().map(|d| base.wrapping_add(d * scale)).collect();
        let others: Vec<u64> = dense.iter().map(|d| base.wrapping_add(d + 1)).collect();
        for plan in IdPlan::all(true, 1 << 20) {
            check(&ids, &others, plan)?;
        }
        ids.extend(&wild);
        for plan in IdPlan::all(true, 1 << 20) {
            check(&ids, &others, plan)?;
        }
    }
}

#[test]
fn identifiers_all_over_the_place_get_a_sorted_array() {
    let plans = IdPlan::all(true, 100_000);
    let suits = |plan| {
        let mut part = IdCollector::new(plan);
        (0..10_000u64).for_each(|n| part.add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15) & !7));
        part.suits()
    };
    assert_eq!(
        plans.into_iter().map(suits).collect::<Vec<_>>(),
        [false, false, true]
    );
}

#[test]
fn a_heap_in_two_far_places_is_numbered_as_any_other() {
    // Found by fuzzing: each identifier was looked up by a walk through the gap.
    let near = (0..20_000u64).map(|n| 0x1000 + 16 * n);
    let far = (0..20_000u64).map(|n| 0x1000 + (MAX_TABLE / 2) * PAGE_BITS * 8 + 16 * n);
    let ids: Vec<u64> = near.chain(far).collect();
    let plan = IdPlan::Bits {
        shift: 3,
        pages: 1000,
    };
    check(&ids, &[0, 0x1008, u64::MAX], plan).unwrap();
}
