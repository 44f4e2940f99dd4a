// Frames of a flame graph as boxes. Those too narrow to see are drawn together.
import type { Flame, FlameNode } from "../api/types";
import { hash } from "./names";

export interface Frame {
  node: FlameNode;
  name: string;
  above: Frame | null;
  depth: number;
  kids: Frame[] | null;
}

export interface FlameBox {
  x: number;
  w: number;
  frame: Frame;
  /** How many narrow frames this box stands for; 0 for a frame of its own. */
  narrow: number;
  value: number;
  /** Below the frame that is zoomed to. */
  above: boolean;
}

export type Order = "heavy" | "name";

export function rootOf(flame: Flame): Frame {
  return { node: flame.root, name: flame.frames[flame.root.f] ?? "", above: null, depth: 0, kids: null };
}

export function kidsOf(frame: Frame, flame: Flame, order: Order): Frame[] {
  if (frame.kids) return frame.kids;
  const kids = (frame.node.c ?? []).map((node): Frame => ({ node, name: flame.frames[node.f] ?? "", above: frame, depth: frame.depth + 1, kids: null }));
  kids.sort((a, b) => (order === "name" ? 0 : b.node.v - a.node.v) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return (frame.kids = kids);
}

/** From the frame next to the root to this one. */
export function wayTo(frame: Frame): Frame[] {
  const way: Frame[] = [];
  for (let at: Frame | null = frame; at && at.above; at = at.above) way.unshift(at);
  return way;
}

/** A name in an address: 24 bits of its hash, which hold when the graph has grown and indexes have changed. */
const mark = (name: string) => (hash(name) & 0xffffff).toString(36);

/** The way to a frame, for an address. */
export const writeWay = (frame: Frame): string => wayTo(frame).map((at) => mark(at.name)).join(".");

/** The frame at the end of a way, as far as it exists; null if it must exist and does not. */
export function followWay(root: Frame, way: string, flame: Flame, order: Order, whole = false): Frame | null {
  let at = root;
  for (const name of way ? way.split(".") : []) {
    const next = kidsOf(at, flame, order).find((kid) => mark(kid.name) === name);
    if (!next) return whole ? null : at;
    at = next;
  }
  return at;
}

export function layout(flame: Flame, zoom: Frame, root: Frame, width: number, order: Order, least = 0.5): FlameBox[][] {
  const rows: FlameBox[][] = [];
  const put = (level: number, box: FlameBox) => (rows[level] ??= []).push(box);
  for (const frame of [root, ...wayTo(zoom)]) put(frame.depth, { x: 0, w: width, frame, narrow: 0, value: frame.node.v, above: frame !== zoom });
  const open: [Frame, number, number][] = [[zoom, 0, width]];
  while (open.length) {
    const [frame, left, wide] = open.pop()!;
    if (!(frame.node.v > 0)) continue;
    const scale = wide / frame.node.v;
    let x = left;
    let narrow: FlameBox | null = null;
    for (const kid of kidsOf(frame, flame, order)) {
      const w = kid.node.v * scale;
      if (!(w > 0)) continue;
      if (w >= least) {
        narrow = null;
        put(kid.depth, { x, w, frame: kid, narrow: 0, value: kid.node.v, above: false });
        open.push([kid, x, w]);
      } else if (narrow) {
        narrow.w += w;
        narrow.narrow++;
        narrow.value += kid.node.v;
      } else put(kid.depth, (narrow = { x, w, frame, narrow: 1, value: kid.node.v, above: false }));
      x += w;
    }
  }
  for (const row of rows) row.sort((a, b) => a.x - b.x);
  return rows;
}

/** The value of frames whose name matches, below a frame; a match inside a match counts once. */
export function matched(node: FlameNode, flags: Uint8Array): number {
  let sum = 0;
  const open = [node];
  while (open.length) {
    const at = open.pop()!;
    if (flags[at.f]) sum += at.v;
    else if (at.c) open.push(...at.c);
  }
  return sum;
}
