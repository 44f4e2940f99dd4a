// A table whose rows are all here, such as the result of a query.
import { signal } from "@preact/signals";
import type { Column, Row } from "../api/types";
import type { Model } from "./model";

export class Local implements Model {
  readonly version = signal(0);
  readonly ready = true;
  readonly failure = null;
  readonly notes: string[] = [];
  private readonly sorted: Row[];

  /** True if the filter is no regular expression; then it is looked for as it stands. */
  readonly isBad: boolean = false;
  /** Set for a table that is made anew whenever the same rows have new figures. */
  stays = false;

  constructor(readonly columns: Column[], rows: Row[], sort: string | null = null, filter = "") {
    const key = sort?.replace(/^-/, "");
    let found = rows;
    if (filter) {
      const text = columns.find((column) => column.kind === "text")?.key ?? "";
      let pattern: RegExp;
      try {
        pattern = new RegExp(filter, "iu");
      } catch {
        this.isBad = true;
        pattern = new RegExp(filter.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "iu");
      }
      found = rows.filter((row) => pattern.test(String(row[text] ?? "")));
    }
    this.sorted = key ? [...found].sort((a, b) => (sort!.startsWith("-") ? -1 : 1) * order(a[key], b[key])) : found;
  }

  keyAt(index: number): string | null {
    const row = this.sorted[index];
    const key = row?.["key"] ?? row?.["name"];
    return typeof key === "string" ? key : null;
  }

  placeOf(key: string): number {
    return this.sorted.findIndex((row) => (row["key"] ?? row["name"]) === key);
  }

  get total(): number {
    return this.sorted.length;
  }

  at(index: number): Row | undefined {
    return this.sorted[index];
  }

  need(): void {
    // Everything is here.
  }

  again(): void {
    // Nothing can fail.
  }

  stop(): void {
    // Nothing is under way.
  }
}

/** Empty cells first, then numbers, then texts. */
function order(a: unknown, b: unknown): number {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "number") return -1;
  if (typeof b === "number") return 1;
  return String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0;
}
