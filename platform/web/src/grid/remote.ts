// A table of the server, page by page. Servers that echo `offset` give any page at once; of others the
// pages are walked by their cursors.
import { signal } from "@preact/signals";
import { Failure, failureOf, getKept } from "../api/client";
import type { Column, Row, TableAnswer } from "../api/types";
import type { Model } from "./model";

const PAGE = 100;
const WALK = 1000;
// Far pages are dropped, so that a scroll through a million rows stays small.
const MAX_PAGES = 120;
// While somebody drags the scrollbar, nothing is loaded that is already out of sight.
const PATIENCE = 40;

export class Remote implements Model {
  readonly version = signal(0);
  columns: Column[] = [];
  total = 0;
  ready = false;
  failure: Failure | null = null;
  notes: string[] = [];
  private pages = new Map<number, Row[]>();
  private under = new Map<number, AbortController>();
  private jumps = false;
  private walked = 0;
  private next: string | null = null;
  private walking = false;
  private wanted: [number, number] = [0, PAGE];
  private timer = 0;
  private readonly abort = new AbortController();

  /** `path` ends in "?" or "&", to which the place is added. */
  constructor(private readonly path: string) {
    void this.first();
  }

  private changed(): void {
    this.version.value++;
  }

  private async first(): Promise<void> {
    try {
      const answer = await getKept<TableAnswer>(`${this.path}limit=${PAGE}&offset=0`, this.abort.signal);
      this.columns = answer.columns;
      this.notes = answer.notes ?? [];
      this.jumps = answer.offset !== undefined && answer.total !== null;
      this.put(0, answer.rows);
      this.walked = answer.rows.length;
      this.next = answer.next;
      this.total = answer.total ?? this.walked + (answer.next ? PAGE : 0);
      this.failure = null;
      this.ready = true;
    } catch (error) {
      if (this.abort.signal.aborted) return;
      this.failure = failureOf(error);
    }
    this.changed();
  }

  private put(place: number, rows: Row[]): void {
    for (let at = 0; at < rows.length; at += PAGE) this.pages.set((place + at) / PAGE, rows.slice(at, at + PAGE));
    if (!this.jumps) return;
    const middle = (this.wanted[0] + this.wanted[1]) / 2 / PAGE;
    while (this.pages.size > MAX_PAGES) {
      const far = [...this.pages.keys()].reduce((a, b) => (Math.abs(b - middle) > Math.abs(a - middle) ? b : a));
      this.pages.delete(far);
    }
  }

  at(index: number): Row | undefined {
    return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  need(from: number, to: number): void {
    this.wanted = [from, to];
    if (!this.ready || this.timer) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      if (this.jumps) this.jump();
      else void this.walk();
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
      this.put(page * PAGE, answer.rows);
      this.failure = null;
    } catch (error) {
      if (abort.signal.aborted) return;
      this.failure = failureOf(error);
    }
    this.under.delete(page);
    this.changed();
  }

  private async walk(): Promise<void> {
    if (this.walking) return;
    this.walking = true;
    // Pages have a fixed size, so a walk begins at the start of one.
    while (this.next && this.walked < this.wanted[1] && !this.abort.signal.aborted) {
      try {
        const limit = this.walked % PAGE === 0 ? WALK : PAGE - (this.walked % PAGE);
        const answer = await getKept<TableAnswer>(`${this.path}limit=${limit}&cursor=${encodeURIComponent(this.next)}`, this.abort.signal);
        for (let at = 0; at < answer.rows.length; ) {
          const page = Math.floor(this.walked / PAGE);
          const room = PAGE - (this.walked % PAGE);
          const rows = answer.rows.slice(at, at + room);
          this.pages.set(page, [...(this.pages.get(page) ?? []), ...rows]);
          at += rows.length;
          this.walked += rows.length;
        }
        this.next = answer.next;
        this.total = answer.total ?? this.walked + (answer.next ? PAGE : 0);
      } catch (error) {
        if (!this.abort.signal.aborted) this.failure = failureOf(error);
        break;
      }
      this.changed();
    }
    this.walking = false;
    this.changed();
  }

  again(): void {
    this.failure = null;
    this.changed();
    if (!this.ready) void this.first();
    else this.need(...this.wanted);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.abort.abort();
    for (const abort of this.under.values()) abort.abort();
  }
}
