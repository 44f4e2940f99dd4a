// A tree whose children the server sends when a node is expanded.
import { signal } from "@preact/signals";
import { Failure, failureOf, getKept } from "../api/client";
import type { Column, Row, TableAnswer } from "../api/types";
import type { Model, Standing } from "./model";

const PAGE = 100;
/** How soon to ask again, in milliseconds. */
const PENDING = 3000;

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
  private readonly abort = new AbortController();

  /** `path` gives the request for the children of a node, up to the place, ending in "?" or "&". */
  constructor(private readonly path: (node: string | null) => string, private readonly start: string | null = null) {
    void this.first();
  }

  get total(): number {
    return this.lines.length;
  }

  private ask(node: string | null, cursor: string | null): Promise<TableAnswer> {
    const place = cursor ? `&cursor=${encodeURIComponent(cursor)}` : "";
    return getKept<TableAnswer>(`${this.path(node)}limit=${PAGE}${place}`, this.abort.signal);
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
    } else if (line.row.children) void this.expand(line);
  }

  private async expand(twig: Twig): Promise<void> {
    if (twig.busy) return;
    if (!twig.branch) {
      twig.busy = true;
      this.version.value++;
      try {
        const node = String(twig.row.node ?? twig.row.object ?? "");
        twig.branch = this.grow(await this.ask(node, null), node, twig);
        this.failure = null;
      } catch (error) {
        if (!this.abort.signal.aborted) this.failure = failureOf(error);
      }
      twig.busy = false;
    }
    twig.open = twig.branch !== null;
    this.changed();
  }

  private async lengthen(line: { more: Branch; of: Twig | null; busy: boolean }): Promise<void> {
    if (line.busy) return;
    line.busy = true;
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
    this.changed();
  }

  need(): void {
    // Children are loaded when somebody expands their parent.
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
