// What a grid draws: rows by their place, loaded when they come into sight.
import type { Signal } from "@preact/signals";
import type { Failure } from "../api/client";
import type { Column, Row } from "../api/types";

/** How a row stands in a tree. */
export interface Standing {
  level: number;
  /** Null for a row that cannot be expanded. */
  open: boolean | null;
  busy: boolean;
  /** The place of the parent's row, or -1. */
  parent: number;
  /** Set on the row that loads further children: how many are left, if known. */
  more?: { left: number | null };
}

export interface Model {
  /** Increases with each change. */
  version: Signal<number>;
  columns: Column[];
  /** Rows to scroll over. */
  total: number;
  /** True once the first answer has come. */
  ready: boolean;
  failure: Failure | null;
  notes: string[];
  at(index: number): Row | undefined;
  /** Tells which rows are in sight. */
  need(from: number, to: number): void;
  again(): void;
  stop(): void;
  /** Asks again for what is shown, since it has grown. */
  refresh?(): void;
  /** True if this table follows one of the same rows: place and row stay. */
  stays?: boolean;
  /** What stays of a row when others come before it. */
  keyAt?(index: number): string | null;
  /** Where that row is now, or -1. */
  placeOf?(key: string): number;
  standing?(index: number): Standing;
  toggle?(index: number): void;
}

export const isNumeric = (kind: Column["kind"]) => kind === "bytes" || kind === "count" || kind === "percent" || kind === "time" || kind === "millis";
