// A tree whose children the server sends when a node is expanded.
import { signal } from "@preact/signals";
import { Failure, failureOf, getKept } from "../api/client";
import type { Column, Row, TableAnswer } from "../api/types";
import { hash } from "../pictures/names";
import type { Model, Standing } from "./model";

const PAGE = 100;
/** How soon to ask again, in milliseconds. */
const PENDING = 3000;
/** How soon to look again whether answers have come, in milliseconds. */
const SOON = 30;
/** Expanded rows that an address holds; more would make links too long. */
const MAX_OPEN = 80;

export interface TreeOptions {
  /** Rows are known by their names, as their nodes are places that change. */
  named: boolean;
  /** The rows to expand, as `onOpen` told them. */
  open: string;
  onOpen: (open: string) => void;
}

interface Branch {
  node: string | null;
  kids: Twig[];
  next: string | null;
  total: number | null;
}

interface Twig {
  row: Row;
  level: number;
  above: Twig | null;
  branch: Branch | null;
  open: boolean;
  busy: boolean;
}

type Line = Twig | { more: Branch; of: Twig | null; busy: boolean };

const nodeOf = (row: Row) => String(row.node ?? row.object ?? "");

export class Tree implements Model {
  readonly version = signal(0);
  columns: Column[] = [];
  ready = false;
  failure: Failure | null = null;
  notes: string[] = [];
  private lines: Line[] = [];
  private places = new Map<Twig, number>();
  private root: Branch | null = null;
  private later = 0;
  private touched = 0;
  private asking = 0;
  private renewing = false;
  private stale = false;
  /** What the address wants expanded, until somebody expands or collapses a row. */
  private readonly wanted: Set<string>;
  private readonly abort = new AbortController();

  /** `path` gives the request for the children of a node, up to the place, ending in "?" or "&". */
  constructor(private readonly path: (node: string | null) => string, private readonly start: string | null, private readonly options: TreeOptions) {
    this.wanted = new Set(options.open.split(".").filter((key) => key).slice(0, MAX_OPEN));
    void this.first();
  }

  get total(): number {
    return this.lines.length;
  }

  private ask(node: string | null, cursor: string | null, limit = PAGE): Promise<TableAnswer> {
    const place = cursor ? `&cursor=${encodeURIComponent(cursor)}` : "";
    return getKept<TableAnswer>(`${this.path(node)}limit=${limit}${place}`, this.abort.signal);
  }

  private async first(): Promise<void> {
    try {
      const answer = await this.ask(this.start, null);
      this.columns = answer.columns;
      this.notes = answer.notes ?? [];
      this.root = this.grow(answer, this.start, null);
      this.ready = true;
      this.failure = null;
      this.askLater(answer);
      // A tree with one way in is opened as far as there is no choice.
      if (this.root.kids.length === 1 && this.root.kids[0]!.row.children) void this.expand(this.root.kids[0]!);
      this.restore(this.root);
    } catch (error) {
      if (this.abort.signal.aborted) return;
      this.failure = failureOf(error);
    }
    this.changed();
  }

  /** Asks again for figures that are still worked out, unless somebody looks into the tree by then. */
  private askLater(answer: TableAnswer): void {
    if (!answer.pending) return;
    this.later = window.setTimeout(() => {
      if (!this.root?.kids.some((kid) => kid.open)) void this.first();
    }, PENDING);
  }

  private grow(answer: TableAnswer, node: string | null, above: Twig | null): Branch {
    const kids = answer.rows.map((row) => this.twig(row, above));
    return { node, kids, next: answer.next, total: answer.total };
  }

  private twig(row: Row, above: Twig | null): Twig {
    return { row, level: above ? above.level + 1 : 1, above, branch: null, open: false, busy: false };
  }

  /** What a row is called in an address: its object, or a hash of the names on the way to it. */
  private key(twig: Twig): string {
    const node = nodeOf(twig.row);
    if (!this.options.named && /^0x[0-9a-f]+$/.test(node)) return node.slice(2);
    return hash(this.nameWay(twig)).toString(36);
  }

  private nameWay(twig: Twig): string {
    const own = String(this.options.named ? (twig.row["name"] ?? "") : nodeOf(twig.row));
    return twig.above ? this.nameWay(twig.above) + "\n" + own : own;
  }

  /** Expands what the address wants among the rows of a branch. */
  private restore(branch: Branch): void {
    if (!this.wanted.size) return;
    for (const kid of branch.kids) if (!kid.open && kid.row.children && this.wanted.has(this.key(kid))) void this.expand(kid);
  }

  private tellOpen(): void {
    // The view is gone, and the address is that of another.
    if (this.abort.signal.aborted) return;
    this.touched++;
    this.wanted.clear();
    const open: string[] = [];
    const look = (branch: Branch | null) => {
      for (const kid of branch?.kids ?? []) {
        if (!kid.open || open.length >= MAX_OPEN) continue;
        open.push(this.key(kid));
        look(kid.branch);
      }
    };
    look(this.root);
    this.options.onOpen(open.join("."));
  }

  refresh(): void {
    if (!this.ready || this.abort.signal.aborted) return;
    this.stale = true;
    if (!this.renewing) void this.renewAll();
  }

  private async renewAll(): Promise<void> {
    this.renewing = true;
    try {
      while (this.stale && this.root) {
        this.stale = false;
        // An answer that is under way belongs to rows of now, not to those that would replace them.
        while (this.asking > 0 && !this.abort.signal.aborted) await new Promise((resolve) => setTimeout(resolve, SOON));
        const { touched } = this;
        const fresh = await this.renewed(this.root, this.start, null);
        // Rows that were expanded meanwhile are newer.
        if (touched !== this.touched) this.stale = true;
        else {
          this.root = fresh;
          this.failure = null;
          this.changed();
        }
      }
    } catch (error) {
      if (this.abort.signal.aborted) return;
      this.failure = failureOf(error);
      this.version.value++;
    }
    this.renewing = false;
  }

  /** A branch as it is now, with what was expanded in it. */
  private async renewed(old: Branch, node: string | null, above: Twig | null): Promise<Branch> {
    const limit = Math.min(1000, Math.max(PAGE, old.kids.length));
    const fresh = this.grow(await this.ask(node, null, limit), node, above);
    const known = new Map(old.kids.map((kid) => [this.key(kid), kid]));
    for (const kid of fresh.kids) {
      const before = known.get(this.key(kid));
      if (!before?.open || !before.branch || !kid.row.children) continue;
      kid.branch = await this.renewed(before.branch, nodeOf(kid.row), kid);
      kid.open = true;
    }
    return fresh;
  }

  keyAt(index: number): string | null {
    const line = this.lines[index];
    return line && "row" in line ? this.key(line) : null;
  }

  placeOf(key: string): number {
    return this.lines.findIndex((line) => "row" in line && this.key(line) === key);
  }

  private changed(): void {
    const lines: Line[] = [];
    this.places.clear();
    const put = (branch: Branch, above: Twig | null) => {
      for (const kid of branch.kids) {
        this.places.set(kid, lines.length);
        lines.push(kid);
        if (kid.open && kid.branch) put(kid.branch, kid);
      }
      if (branch.next) lines.push({ more: branch, of: above, busy: false });
    };
    if (this.root) put(this.root, null);
    this.lines = lines;
    this.version.value++;
  }

  at(index: number): Row | undefined {
    const line = this.lines[index];
    return line ? ("row" in line ? line.row : {}) : undefined;
  }

  standing(index: number): Standing {
    const line = this.lines[index];
    if (!line) return { level: 1, open: null, busy: false, parent: -1 };
    if ("more" in line) {
      const { total, kids } = line.more;
      return { level: line.of ? line.of.level + 1 : 1, open: null, busy: line.busy, parent: line.of ? (this.places.get(line.of) ?? -1) : -1, more: { left: total === null ? null : total - kids.length } };
    }
    return { level: line.level, open: line.row.children ? line.open : null, busy: line.busy, parent: line.above ? (this.places.get(line.above) ?? -1) : -1 };
  }

  toggle(index: number): void {
    const line = this.lines[index];
    if (!line) return;
    if ("more" in line) void this.lengthen(line);
    else if (line.open) {
      line.open = false;
      this.changed();
      this.tellOpen();
    } else if (line.row.children) void this.expand(line).then(() => this.tellOpen());
  }

  private async expand(twig: Twig): Promise<void> {
    if (twig.busy) return;
    this.touched++;
    if (!twig.branch) {
      this.asking++;
      twig.busy = true;
      this.version.value++;
      try {
        const node = nodeOf(twig.row);
        twig.branch = this.grow(await this.ask(node, null), node, twig);
        this.failure = null;
      } catch (error) {
        if (!this.abort.signal.aborted) this.failure = failureOf(error);
      }
      twig.busy = false;
      this.asking--;
    }
    twig.open = twig.branch !== null;
    this.changed();
    if (twig.branch) this.restore(twig.branch);
  }

  private async lengthen(line: { more: Branch; of: Twig | null; busy: boolean }): Promise<void> {
    if (line.busy) return;
    line.busy = true;
    this.touched++;
    this.asking++;
    this.version.value++;
    try {
      const { more } = line;
      const answer = await this.ask(more.node, more.next);
      more.kids.push(...answer.rows.map((row) => this.twig(row, line.of)));
      more.next = answer.next;
      this.failure = null;
    } catch (error) {
      if (!this.abort.signal.aborted) this.failure = failureOf(error);
    }
    this.asking--;
    this.changed();
  }

  need(): void {
    // Children are loaded when their parent is expanded.
  }

  again(): void {
    this.failure = null;
    this.changed();
    if (!this.ready) void this.first();
  }

  stop(): void {
    clearTimeout(this.later);
    this.abort.abort();
  }
}
