//! Collapsed stacks: one line per stack, as flame graph tools read them.

use hprof_analysis::stacks::{CallTree, Node};

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

fn frame(name: &str) -> String {
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
    }
}
