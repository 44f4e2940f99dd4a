// Where a profile comes from: a finished analysis, or a JVM that is being recorded.

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
