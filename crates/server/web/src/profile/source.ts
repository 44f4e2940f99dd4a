// Where a profile comes from: a finished analysis, or a JVM that is being recorded.
import type { Dump } from "../api/types";

export interface Source {
  /** Below /api/v1: `dumps/ID` or `jvms/ID`. */
  api: string;
  /** The address of the page: `/dumps/ID` or `/jvms/ID`. */
  page: string;
  /** Changes when a recording has grown; null for what never changes. */
  tick: string | null;
  /** Parameters of every request, such as the seconds to look at. */
  params: Record<string, string | null>;
}

export const finished = (dump: string): Source => ({ api: "dumps/" + encodeURIComponent(dump), page: "/dumps/" + dump, tick: null, params: {} });

/** What a profile counts, by the keys of its dimensions; null if the list does not tell. */
function measuresOf(dump: Dump): string[] | null {
  const profiles = dump.summary?.["profiles"];
  if (!Array.isArray(profiles)) return null;
  const measures = profiles.map((profile: { measure?: unknown }) => profile.measure);
  return measures.every((measure) => typeof measure === "string") ? measures : null;
}

/** The first measure of a profile that another one has too; undefined if neither tells, null if there is none. */
export function sharedMeasure(of: Dump, other: Dump): string | null | undefined {
  const [own, others] = [measuresOf(of), measuresOf(other)];
  return own && others ? (own.find((measure) => others.includes(measure)) ?? null) : undefined;
}

export function counts(dump: Dump, measure: string | null): boolean {
  const own = measuresOf(dump);
  return !own || measure === null || own.includes(measure);
}
