// The profile's data. A view is a tree in the order of a walk from its roots; `up` says how many
// levels a node's parent lies above the node before it. Frames are what is seen: nodes of equal names
// under one frame are one. They are made when they are looked at, so size costs nothing.
const data = JSON.parse(document.getElementById("data").textContent);

class Tree {
  constructor(view) {
    const size = view.name.length;
    this.view = view;
    this.size = size;
    this.name = Int32Array.from(view.name);
    this.parent = new Int32Array(size);
    this.depth = new Int32Array(size);
    this.end = new Int32Array(size);
    this.own = [Float64Array.from(view.own)];
    if (view.before) this.own.push(Float64Array.from(view.before));
    const way = [];
    for (let node = 0; node < size; node++) {
      for (let ups = view.up[node]; ups > 0; ups--) this.end[way.pop()] = node;
      this.parent[node] = way.length ? way[way.length - 1] : -1;
      this.depth[node] = way.length;
      way.push(node);
    }
    while (way.length) this.end[way.pop()] = size;
    this.total = this.own.map(own => this.totalOf(own));
    this.sums = this.total.map(total => this.sumOf(total));
  }

  // Costs with those of calls.
  totalOf(own) {
    const total = own.slice(), {parent} = this;
    for (let node = this.size - 1; node >= 0; node--) if (parent[node] >= 0) total[parent[node]] += total[node];
    return total;
  }
  // What all roots cost.
  sumOf(total) {
    let sum = 0;
    for (let node = 0; node < this.size; node = this.end[node]) sum += total[node];
    return sum;
  }

  // A leaf that is a class of objects and no method.
  isClass(node) { return this.view.classes && this.end[node] === node + 1 && !"346".includes(data.kinds[this.name[node]]); }
  kind(node) { return this.isClass(node) ? 2 : this.view.packages ? 3 : +data.kinds[this.name[node]]; }
}

// One way to look at a tree: which column is the width, which threads, from which end.
class Look {
  constructor(tree, {side, reverse, thread, order}) {
    Object.assign(this, {tree, side, reverse, order});
    const {view} = tree;
    this.apart = thread === "apart";
    this.first = view.threads && !this.apart ? 1 : 0;
    const picked = view.threads && thread && !this.apart ? +thread : -1;
    const items = [];
    if (reverse) {
      for (let node = 0; node < tree.size; node++) {
        if (tree.depth[node] < this.first) { if (picked >= 0 && picked !== node) node = tree.end[node] - 1; continue; }
        if (tree.own.some(own => own[node] > 0)) items.push(node, node);
      }
    } else if (this.first) {
      for (let node = 0; node < tree.size; node = tree.end[node]) if (picked < 0 || picked === node) items.push(node);
    }
    this.root = {name: -1, kind: 3, items, above: null, depth: 0, kids: null, total: 0, sums: []};
    if (reverse) {
      this.root.sums = tree.own.map(own => { let sum = 0; for (let i = 1; i < items.length; i += 2) sum += own[items[i]]; return sum; });
    } else {
      this.root.sums = this.first ? tree.total.map(total => items.reduce((sum, node) => sum + total[node], 0)) : tree.sums.slice();
    }
    this.root.total = this.root.sums[side];
    this.root.own = 0;
  }

  // The frames on this one, in their order.
  kids(frame) {
    if (frame.kids) return frame.kids;
    const {tree, side} = this, found = new Map();
    const to = node => {
      let kid = found.get(tree.name[node]);
      if (!kid) {
        kid = {name: tree.name[node], kind: tree.kind(node), items: [], above: frame, depth: frame.depth + 1, kids: null, total: 0, own: 0, sums: tree.own.map(() => 0)};
        found.set(tree.name[node], kid);
      }
      return kid;
    };
    if (this.reverse) {
      for (let i = 0; i < frame.items.length; i += 2) {
        const leaf = frame.items[i + 1], node = frame.above ? tree.parent[frame.items[i]] : leaf;
        if (node < 0 || tree.depth[node] < this.first) continue;
        const kid = to(node);
        kid.items.push(node, leaf);
        tree.own.forEach((own, column) => { kid.sums[column] += own[leaf]; });
        if (!frame.above) kid.own += tree.own[side][leaf];
      }
    } else {
      const add = node => {
        const kid = to(node);
        kid.items.push(node);
        tree.total.forEach((total, column) => { kid.sums[column] += total[node]; });
        kid.own += tree.own[side][node];
      };
      const all = !frame.above && !this.first;
      for (const item of all ? [-1] : frame.items) {
        const stop = item < 0 ? tree.size : tree.end[item];
        for (let node = item + 1; node < stop; node = tree.end[node]) add(node);
      }
    }
    const kids = [...found.values()];
    for (const kid of kids) kid.total = kid.sums[side];
    const byName = (a, b) => { const x = data.names[a.name], y = data.names[b.name]; return x < y ? -1 : x > y ? 1 : 0; };
    kids.sort(this.order === "name" ? byName : (a, b) => b.total - a.total || byName(a, b));
    return frame.kids = kids;
  }

  // From the frame next to the root to this one.
  path(frame) {
    const path = [];
    for (let at = frame; at && at.above; at = at.above) path.unshift(at);
    return path;
  }

  // The frame at the end of a path of names, or as far as it leads.
  follow(names) {
    let frame = this.root;
    for (const name of names) {
      const next = this.kids(frame).find(kid => kid.name === name);
      if (!next) break;
      frame = next;
    }
    return frame;
  }

  // How much of a frame lies in stacks with a method that `flags` marks; call `mark` first.
  mark(flags) {
    const {tree} = this, own = tree.own[this.side];
    this.hit = new Uint8Array(tree.size);
    this.before = new Float64Array(tree.size + 1);
    for (let node = 0; node < tree.size; node++) {
      const above = tree.parent[node];
      this.hit[node] = (above >= 0 && this.hit[above]) || (tree.depth[node] >= this.first && flags[tree.name[node]]) ? 1 : 0;
      this.before[node + 1] = this.before[node] + (this.hit[node] ? own[node] : 0);
    }
  }
  matched(frame) {
    const {tree, before} = this, own = tree.own[this.side];
    let sum = 0;
    if (this.reverse) for (let i = 1; i < frame.items.length; i += 2) sum += this.hit[frame.items[i]] ? own[frame.items[i]] : 0;
    else if (!frame.above && !this.first) sum = before[tree.size];
    else for (const node of frame.items) sum += before[tree.end[node]] - before[node];
    return sum;
  }

  // What each method costs by itself and with its calls, each stack counted once.
  methods(classes) {
    const {tree} = this, found = new Map(), open = new Map(), way = [];
    const picked = this.first && this.root.items.length && !this.reverse ? new Set(this.root.items) : null;
    const row = name => {
      if (!found.has(name)) found.set(name, {name, own: tree.own.map(() => 0), total: tree.own.map(() => 0), charged: tree.own.map(() => 0)});
      return found.get(name);
    };
    // The innermost method of the program on the way to each node.
    const payer = new Int32Array(classes ? 0 : tree.size).fill(-1);
    for (let node = 0; node < tree.size; node++) {
      if (tree.depth[node] < this.first) { if (picked && !picked.has(node)) node = tree.end[node] - 1; continue; }
      if (this.apart && tree.view.threads && tree.depth[node] === 0) continue;
      while (way.length && tree.end[way[way.length - 1]] <= node) {
        const name = tree.name[way.pop()];
        open.set(name, open.get(name) - 1);
      }
      const name = tree.name[node], isClass = tree.isClass(node);
      if (classes && !isClass) continue;
      if (!classes) {
        // Threads pay for nothing.
        const above = tree.parent[node] >= 0 ? payer[tree.parent[node]] : -1;
        payer[node] = !isClass && data.own[name] === "1" ? name : above;
        if (payer[node] >= 0) { const pays = row(payer[node]); tree.own.forEach((own, column) => { pays.charged[column] += own[node]; }); }
      }
      if (isClass && !classes) {
        // What objects take was allocated by the method that their class stands on.
        if (way.length) { const above = row(tree.name[way[way.length - 1]]); tree.own.forEach((own, column) => { above.own[column] += own[node]; }); }
        continue;
      }
      const here = row(name);
      tree.own.forEach((own, column) => { here.own[column] += own[node]; });
      if (!open.get(name)) tree.total.forEach((total, column) => { here.total[column] += total[node]; });
      if (!isClass) { open.set(name, (open.get(name) || 0) + 1); way.push(node); }
    }
    return [...found.values()];
  }
}
