//! Counts by node: the tables of a dump and of ended threads.

use std::collections::HashMap;

use hprof_format::ids::ThreadSerial;

use hprof_lockfree::nodes::NodeNumber;

/// Calls, and nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) calls: u64,
    pub(super) nanos: u64,
}

/// The counts of each thread if wanted, otherwise of all threads as `None`.
pub(super) type Costs = HashMap<Option<ThreadSerial>, NodeCosts>;

/// Nodes in a row that share an entry of the table: nodes made one after the other tend to be used
/// by the same threads, and then a cost takes little more than its own 16 bytes.
const ROW: usize = 16;

/// The costs of nodes, most of them zero.
#[derive(Default)]
pub(super) struct NodeCosts {
    rows: HashMap<u32, Box<[Cost; ROW]>>,
}

impl NodeCosts {
    pub(super) fn get(&self, node: NodeNumber) -> Cost {
        let (row, place) = split(node);
        self.rows
            .get(&row)
            .map_or_else(Cost::default, |row| row[place])
    }

    pub(super) fn at(&mut self, node: NodeNumber) -> &mut Cost {
        let (row, place) = split(node);
        &mut self.rows.entry(row).or_default()[place]
    }

    /// Adds the cost of `from` to that of `to`, and sets it to zero.
    pub(super) fn shift(&mut self, from: NodeNumber, to: NodeNumber) {
        let cost = self.get(from);
        if cost != Cost::default() {
            *self.at(from) = Cost::default();
            let sum = self.at(to);
            sum.calls += cost.calls;
            sum.nanos += cost.nanos;
        }
    }

    /// All that are not zero, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (NodeNumber, Cost)> + '_ {
        let all = self.rows.iter().flat_map(|(&row, costs)| {
            let numbers = row * ROW as u32..;
            numbers.map(NodeNumber).zip(costs.iter().copied())
        });
        all.filter(|(_, cost)| *cost != Cost::default())
    }

    pub(super) fn nanos(&self) -> u64 {
        self.iter().map(|(_, cost)| cost.nanos).sum()
    }
}

/// Row, and place in it.
fn split(node: NodeNumber) -> (u32, usize) {
    (node.0 / ROW as u32, node.0 as usize % ROW)
}

/// Spreads `rests`, CPU nanoseconds of ended threads after they were last looked at, over what the
/// threads were seen in, in proportion: many short threads are hardly looked at, but those that are
/// stand for the others.
pub(super) fn spread(rests: HashMap<Option<ThreadSerial>, u64>, costs: &mut Costs) {
    for (serial, rest) in rests {
        if rest == 0 {
            continue;
        }
        let costs = costs.entry(serial).or_default();
        let total = costs.nanos();
        if total == 0 {
            costs.at(NodeNumber::ROOT).nanos += rest;
            continue;
        }
        for cost in costs.rows.values_mut().flat_map(|row| row.iter_mut()) {
            let share = u128::from(cost.nanos) * u128::from(rest) / u128::from(total);
            cost.nanos += u64::try_from(share).unwrap_or(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_found_where_they_were_put() {
        let mut costs = NodeCosts::default();
        costs.at(NodeNumber(15)).calls += 2;
        costs.at(NodeNumber(16)).calls += 3;
        costs.at(NodeNumber(1_000_000)).nanos += 4;
        assert_eq!(costs.get(NodeNumber(15)).calls, 2);
        assert_eq!(costs.get(NodeNumber(17)), Cost::default());
        costs.shift(NodeNumber(15), NodeNumber(16));
        costs.shift(NodeNumber(40), NodeNumber(41));
        let mut all: Vec<_> = costs.iter().collect();
        all.sort_by_key(|(node, _)| *node);
        let cost = |calls, nanos| Cost { calls, nanos };
        assert_eq!(
            all,
            [
                (NodeNumber(16), cost(5, 0)),
                (NodeNumber(1_000_000), cost(0, 4))
            ]
        );
    }

    #[test]
    fn rests_go_where_time_was_seen() {
        let serial = |number| Some(ThreadSerial::new(number));
        let mut costs = Costs::new();
        for (thread, node, nanos) in [(1, 1, 300), (1, 2, 100), (2, 2, 0)] {
            let cost = Cost { calls: 1, nanos };
            *costs
                .entry(serial(thread))
                .or_default()
                .at(NodeNumber(node)) = cost;
        }
        spread(HashMap::from([(serial(1), 40), (serial(2), 7)]), &mut costs);
        let nanos = |number, node| costs[&serial(number)].get(node).nanos;
        assert_eq!(nanos(1, NodeNumber(1)), 330);
        assert_eq!(nanos(1, NodeNumber(2)), 110);
        assert_eq!(nanos(2, NodeNumber(2)), 0);
        assert_eq!(nanos(2, NodeNumber::ROOT), 7);
    }
}
