// A table of the server, page by page: whichever rows come into sight.
import { signal } from "@preact/signals";
import { Failure, failureOf, getKept } from "../api/client";
import type { Column, Row, TableAnswer } from "../api/types";
import type { Model } from "./model";

const PAGE = 100;
// Far pages are dropped, so that a scroll through a million rows stays small.
const MAX_PAGES = 120;
// While the scrollbar is dragged, nothing is loaded that is already out of sight.
const PATIENCE = 40;
/** How soon to ask again for figures that the server still works out, in milliseconds. */
const PENDING = 3000;

export class Remote implements Model {
  readonly version = signal(0);
  columns: Column[] = [];
  total = 0;
  ready = false;
  failure: Failure | null = null;
  notes: string[] = [];
  private pages = new Map<number, Row[]>();
  private under = new Map<number, AbortController>();
  private wanted: [number, number] = [0, PAGE];
  private timer = 0;
  private later = 0;
  private stopped = false;
  private stale = false;

  /** `path` ends in "?" or "&", to which the place is added. */
  constructor(private readonly path: string) {
    void this.load(0);
  }

  at(index: number): Row | undefined {
    return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  need(from: number, to: number): void {
    this.wanted = [from, to];
    if (!this.ready || this.timer) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      this.jump();
    }, PATIENCE);
  }

  private jump(): void {
    const [from, to] = this.wanted;
    const first = Math.floor(from / PAGE);
    const last = Math.floor(Math.max(from, Math.min(to, this.total) - 1) / PAGE);
    for (const [page, abort] of this.under) {
      if (page < first - 1 || page > last + 1) {
        abort.abort();
        this.under.delete(page);
      }
    }
    for (let page = first; page <= last; page++) if (!this.pages.has(page) && !this.under.has(page)) void this.load(page);
  }

  private async load(page: number): Promise<void> {
    const abort = new AbortController();
    this.under.set(page, abort);
    try {
      const answer = await getKept<TableAnswer>(`${this.path}limit=${PAGE}&offset=${page * PAGE}`, abort.signal);
      this.take(page, answer);
    } catch (error) {
      if (abort.signal.aborted) return;
      this.failure = failureOf(error);
    }
    this.under.delete(page);
    this.version.value++;
    if (this.stale) this.refresh();
  }

  refresh(): void {
    if (this.stopped || !this.ready) return;
    // One answer after the other, so that a slow server is not asked faster than it answers.
    this.stale = this.under.size > 0;
    if (this.stale) return;
    const [from, to] = this.wanted;
    for (const page of [...this.pages.keys()]) {
      if ((page + 1) * PAGE > from && page * PAGE < to) void this.load(page);
      else this.pages.delete(page);
    }
  }

  keyAt(index: number): string | null {
    const name = this.at(index)?.["name"];
    return typeof name === "string" ? name : null;
  }

  placeOf(key: string): number {
    for (const [page, rows] of this.pages) {
      const at = rows.findIndex((row) => row["name"] === key);
      if (at >= 0) return page * PAGE + at;
    }
    return -1;
  }

  private take(page: number, answer: TableAnswer): void {
    if (!this.ready) this.columns = answer.columns;
    this.notes = answer.notes ?? [];
    this.total = answer.total ?? page * PAGE + answer.rows.length;
    this.ready = true;
    this.failure = null;
    this.pages.set(page, answer.rows);
    const middle = (this.wanted[0] + this.wanted[1]) / 2 / PAGE;
    while (this.pages.size > MAX_PAGES) {
      const far = [...this.pages.keys()].reduce((a, b) => (Math.abs(b - middle) > Math.abs(a - middle) ? b : a));
      this.pages.delete(far);
    }
    if (!answer.pending || this.later || this.stopped) return;
    this.later = window.setTimeout(() => {
      this.later = 0;
      // Rows stay on the screen until better ones come.
      for (const known of [...this.pages.keys()]) void this.load(known);
    }, PENDING);
  }

  again(): void {
    this.failure = null;
    this.version.value++;
    if (!this.ready) void this.load(0);
    else this.need(...this.wanted);
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    clearTimeout(this.later);
    for (const abort of this.under.values()) abort.abort();
  }
}
