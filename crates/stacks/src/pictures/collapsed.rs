//! Collapsed stacks: one line per stack, as flame graph tools read them.

use std::collections::BTreeMap;

use crate::call_tree::{CallTree, Node};

/// One line per stack: its frames from the outermost on with semicolons between, a blank, the
/// cost. Frames hold no semicolons, blanks at their ends or line feeds.
pub fn lines(tree: &CallTree) -> Vec<String> {
    let mut lines = Vec::new();
    let mut path: Vec<String> = Vec::new();
    let mut open: Vec<(&Node, usize)> = tree.roots.iter().rev().map(|node| (node, 0)).collect();
    while let Some((node, depth)) = open.pop() {
        path.truncate(depth);
        path.push(frame(&node.name));
        if node.own > 0 {
            lines.push(format!("{} {}", path.join(";"), node.own));
        }
        open.extend(node.children.iter().rev().map(|child| (child, depth + 1)));
    }
    lines
}

/// One line per stack of either tree, with its cost in both.
pub fn differential(before: &CallTree, after: &CallTree) -> Vec<String> {
    let mut stacks: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for (side, tree) in [before, after].into_iter().enumerate() {
        for line in lines(tree) {
            if let Some((stack, cost)) = line.rsplit_once(' ') {
                let cost: u64 = cost.parse().unwrap_or_default();
                stacks.entry(stack.to_owned()).or_default()[side] += cost;
            }
        }
    }
    stacks
        .into_iter()
        .map(|(stack, [before, after])| format!("{stack} {before} {after}"))
        .collect()
}

/// The name of a frame in a line.
pub(super) fn frame(name: &str) -> String {
    let replace = |c: char| match c {
        ';' => ':',
        c if c.is_control() => ' ',
        c => c,
    };
    name.chars()
        .map(replace)
        .collect::<String>()
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, own: u64, children: Vec<Node>) -> Node {
        let total = own + children.iter().map(|child| child.total).sum::<u64>();
        Node {
            name: name.into(),
            own,
            total,
            children,
        }
    }

    #[test]
    fn a_line_per_stack() {
        let inner = node("C.c", 2, vec![]);
        let main = node(
            "A.main",
            1,
            vec![node("B;b", 0, vec![inner]), node("D\n", 4, vec![])],
        );
        let tree = CallTree {
            total: 7,
            roots: vec![main],
        };
        assert_eq!(lines(&tree), ["A.main 1", "A.main;B:b;C.c 2", "A.main;D 4"]);
        let other = CallTree::from_paths([(vec!["A.main", "D"], 9), (vec!["E"], 1)]);
        let expected = ["A.main 1 0", "A.main;B:b;C.c 2 0", "A.main;D 4 9", "E 0 1"];
        assert_eq!(differential(&tree, &other), expected);
    }
}
