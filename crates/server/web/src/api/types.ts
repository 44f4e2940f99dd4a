// What the server sends. Sizes are bytes, times are milliseconds since 1970 UTC.

export interface Problem {
  title: string;
  status: number;
  detail?: string;
  type?: string;
}

export type JobState = "queued" | "running" | "done" | "failed" | "cancelled";

export interface Job {
  id: number;
  dump: string;
  state: JobState;
  phase: string | null;
  done: number;
  total: number | null;
  unit: "bytes" | "objects";
  rate: number | null;
  seconds_left: number | null;
  started_at: number | null;
  ended_at: number | null;
  error: { title: string; detail: string; can_retry: boolean } | null;
  attempt: number;
  /** What the largest worker has room for, while that is less than the dump takes. */
  room?: number | null;
}

/** A rule of a dump; it is not judged before the job is done. */
export interface Verdict {
  rule: string;
  passed: boolean | null;
  sentence: string | null;
}

/** The rules of `hprof-rs strip`. */
export interface StripRules {
  fields: boolean;
  keep_strings: boolean;
  keep: string[];
  drop: string[];
  redact: boolean;
  redact_pattern: string[];
  bitmaps: boolean;
  thread_names: "keep" | "number" | "remove" | null;
}

/** A step that took contents out of a dump: by this server, or by the sender, which says so. */
export interface Stripping {
  by: "server" | "sender";
  rules: StripRules;
  figures: { emptied: number; texts: number; threads: number; secrets: number; redacted: number };
}

export interface Dump {
  id: string;
  name: string;
  kind: "heap" | "profile" | "thread_dump" | "gc_log" | "unknown";
  bytes: number;
  uploaded_at: number;
  note: string | null;
  labels: Record<string, string>;
  pinned: boolean;
  /** The server blanked its values before it kept it. */
  stripped?: boolean;
  /** The steps that took contents out of it, in order. */
  strippings?: Stripping[];
  rules?: Verdict[];
  sha256: string;
  job: Job | null;
  headline: string | null;
  summary: Record<string, unknown> | null;
}

export interface ServerFacts {
  version: string;
  role?: string;
  limits?: { memory?: number | null; upload?: number | null; disk_free?: number | null };
  jobs?: { running: number; queued: number };
  allowed_roots?: string[];
  /** True if the server lists JVMs. */
  jvms?: boolean;
  /** True if uploads may go straight to the server's storage. */
  direct_uploads?: boolean;
}

/** A JVM of the server's machine, or one that streams to the server. */
export interface Jvm {
  /** The process id as text for JVMs of this machine. */
  id: string;
  pid: number | null;
  name: string;
  version: string | null;
  /** Empty when not known. */
  user: string;
  /** The address from which its agent streams. */
  host: string | null;
  /** Seconds. */
  uptime: number | null;
  attachable: boolean;
  /** Why it cannot be attached to. */
  reason: string | null;
  /** The agent is loaded. */
  agent: boolean;
  /** The server records it. */
  live: boolean;
  container: boolean;
  place: "local" | "network";
}

export type Mode = "cpu" | "wall" | "alloc" | "lock";

/** A JVM with what is recorded of it. */
export interface LiveJvm extends Jvm {
  /** Modes that can be recorded. */
  offers: Mode[];
  modes: Mode[];
  /** The clock of the recording, be it stopped. */
  clock: Mode | null;
  since: number | null;
  /** Grows with each change of what is recorded; 0 before there is anything to show. */
  revision: number;
  samples: number;
  cost: { cpu_percent: number | null; memory_bytes: number | null; sentence: string } | null;
  can: { dump: boolean; histogram: boolean; threads: boolean; record: boolean };
  /** Why the recording ended. */
  ended: string | null;
  notes: string[];
}

export interface TimelineAnswer {
  seconds_per_bucket: number;
  buckets: { at: number; samples: number }[];
}

/** The memory of a process: each resident page is in one row. */
export interface LiveMemory {
  resident: number;
  limit: number | null;
  /** What the limit leaves, page cache counted as free. */
  left: number | null;
  causes: string[];
  rows: { name: string; resident: number; committed: number | null; used: number | null; details: string }[];
  facts: { name: string; value: string }[];
  notes: string[];
}

export interface LiveThread {
  name: string;
  state: string;
  os_id: number | null;
  cpu_ms: number | null;
  frames: string[];
  waits_for: { lock: string; owner: string | null } | null;
  holds: string[];
}

export interface LiveThreads {
  threads: LiveThread[];
  deadlocks: { sentence: string; threads: string[] }[];
  notes: string[];
}

export interface Page<T> {
  items: T[];
  next: string | null;
}

/** `millis` is of the page itself: how long something took. */
export type Kind = "text" | "bytes" | "count" | "percent" | "object" | "class" | "bool" | "time" | "series" | "millis";

export interface Column {
  key: string;
  label: string;
  kind: Kind;
}

export type Cell = string | number | boolean | null | undefined;

/** A row of any table. What it is about is in `object` and `class`; `node` expands it. */
export interface Row {
  object?: string | null;
  class?: string | null;
  children?: boolean;
  node?: string | null;
  [key: string]: unknown;
}

export interface TableAnswer {
  columns: Column[];
  rows: Row[];
  total: number | null;
  next: string | null;
  notes?: string[];
  /** True while figures are still worked out: ask again. */
  pending?: boolean;
}

export interface PathItem {
  object: string;
  name: string;
  field: string | null;
  retained: number | null;
  /** The objects between the one before and this one that are left out. */
  more?: number;
}

/** The way from a root to an object; no items if no root reaches it. */
export interface PathAnswer {
  root: string | null;
  items: PathItem[];
  notes: string[];
}

export interface Suspect {
  title: string;
  /** Its name among the suspects of all dumps; none in analyses of earlier versions. */
  code?: string | null;
  /** The last field of the program on the way to it, as Class.field. */
  field?: string | null;
  sentences: string[];
  percent: number;
  bytes: number;
  object: string | null;
  class: string | null;
  root: string | null;
  path: PathItem[];
  accumulation: PathItem | null;
  children: { class: string; count: number; bytes: number }[];
}

export interface Observation {
  kind: string;
  title: string;
  sentences: string[];
}

export interface Overview {
  file: string;
  created_at: number | null;
  model: string;
  notes: string[];
  /** Absent in answers of earlier versions. */
  observations?: Observation[];
  summary: Record<string, number>;
  jvm: Record<string, string>;
  biggest: { object: string | null; name: string; retained: number; percent: number }[];
  /** Views that have nothing to show, by their ids. */
  empty?: string[];
}

export interface ObjectFacts {
  object: string;
  class: { id: string | null; name: string };
  name: string;
  shallow: number;
  retained: number | null;
  percent: number | null;
  is_live: boolean;
  is_class: boolean;
  length: number | null;
  value: { kind: string; text: string; truncated: boolean } | null;
  loader: string | null;
  loader_object: string | null;
  dominator: { object: string; name: string } | null;
  trace: string[] | null;
  root: string[] | null;
}

export interface ClassFacts {
  id: string;
  name: string;
  superclass: { id: string | null; name: string } | null;
  loader: string | null;
  loader_object: string | null;
  instances: number;
  unreached: number;
  shallow: number;
  retained: number | null;
  retained_is_exact: boolean;
  instance_bytes: number | null;
  fields: { name: string; type: string }[];
  statics: { name: string; type: string; value: string; object: string | null }[];
  subclasses: { id: string | null; name: string }[];
}

export interface Area {
  node: string | null;
  name: string;
  bytes: number;
  children: Area[];
}

export interface MergedNode {
  name: string;
  /** Objects of the class that are reached through here, and their share of all. */
  count: number;
  percent: number;
  /** Objects at this step. */
  objects: number;
  /** How often the class follows itself here, as in a list. */
  repeated: number;
  children: MergedNode[];
}

export interface MergedAnswer {
  name: string;
  count: number;
  children: MergedNode[];
  notes: string[];
}

export interface ThreadFacts {
  name: string;
  state: string | null;
  properties: Record<string, unknown>;
  frames: { method: string; locals: ThreadLocal[] }[];
  /** Objects of the stack whose frame is not known. */
  other_locals: ThreadLocal[];
}

export interface ThreadLocal {
  object: string;
  name: string;
  retained: number | null;
  kind: string;
}

export interface Schema {
  tables: { name: string; about: string; columns: { name: string; type: string; about: string }[] }[];
  examples: { title: string; sql: string }[];
}

export interface QueryAnswer {
  columns: Column[];
  rows: Cell[][];
  truncated: boolean;
  /** Sentences about what the rows cannot tell. */
  notes: string[];
  millis: number;
}

export interface ProfileFacts {
  kind: string;
  unit: string;
  total: number;
  title: string;
  /** `waits` is the part of the total that waits for work, which `busy` leaves out. */
  dimensions: { key: string; label: string; unit: string; total: number; waits?: number }[];
  threads: { key: string; name: string; total: number; waits?: number; group?: string | null }[];
  /** Threads whose names differ in a number. */
  groups?: { key: string; name: string; threads: number; total: number; waits?: number }[];
  notes: string[];
  /** The profiler's own counts and settings. */
  remarks?: string[];
  has_timeline: boolean;
  /** Of a JVM that is recorded: the seconds recorded so far. */
  seconds?: number;
  /** Timed calls, if methods were timed. */
  slow?: SlowCalls | null;
}

/** Timed methods (`slow=`) with their slowest calls. */
export interface SlowCalls {
  patterns: { pattern: string; why?: string | null }[];
  methods: {
    class: string;
    name: string;
    descriptor: string;
    calls: number;
    timed_one_in: number;
    p50_ns: number;
    p90_ns: number;
    p99_ns: number;
    p99_9_ns: number;
    max_ns: number;
    wall_ns: number;
    cpu_ns: number;
    threshold: unknown;
    threshold_ns: number | null;
    slow_calls: number;
    slowest: {
      began_ns: number;
      wall_ns: number;
      cpu_ns: number;
      thread: string;
      is_virtual: boolean;
      remarks: string[];
      strip: { segments: { from_ns: number; to_ns: number; state: string }[]; states: { state: string; wall_ns: number; method: string | null }[] } | null;
    }[];
  }[];
  no_strips: string | null;
  is_wall: boolean;
  methods_left_out: number;
}

/** A frame of a flame graph: `f` is its name's index, `v` total, `s` self, `d` difference. */
export interface FlameNode {
  f: number;
  v: number;
  s: number;
  d?: number;
  c?: FlameNode[];
}

export interface Flame {
  frames: string[];
  unit: string;
  total: number;
  root: FlameNode;
  notes: string[];
}

/** A series of pushed profiles. */
export interface SeriesFound {
  labels: Record<string, string>;
  kind: string;
  title: string;
  unit: string;
  from: number;
  to: number;
}

export interface SeriesList {
  series: SeriesFound[];
  labels: Record<string, string[]>;
  notes: string[];
}

/** Values of pushed profiles over time: `step` milliseconds each. */
export interface CostsOverTime {
  unit: string;
  from: number;
  step: number;
  lanes: { group: string; total: number; values: number[] }[];
  notes: string[];
}

/** A method whose own costs changed; `change` is what it costs more. */
export interface Mover {
  method: string;
  before: number;
  after: number;
  change: number;
}

/** The methods whose own costs grew or shrank most between two windows. */
export interface Movers {
  unit: string;
  before: number;
  after: number;
  grew: Mover[];
  shrank: Mover[];
  notes: string[];
}

/** How long some pauses took, in milliseconds. */
export interface Spread {
  count: number;
  sum_ms: number;
  max_ms: number;
  p50_ms: number;
  p95_ms?: number;
  p99_ms: number;
  p999_ms?: number;
}

/** What a garbage collection log shows. */
export interface GcReport {
  logs: {
    notes: string[];
    collector: string | null;
    jvm: string | null;
    pauses: Spread;
    /** The part of the time without a pause, 0 to 1. */
    throughput: number | null;
    kinds: (Spread & { name: string })[];
    causes: (Spread & { name: string })[];
    cycles: (Spread & { name: string })[];
    /** All stops of the program, for other reasons too. */
    stops: Spread;
    /** How long it took until all threads had stopped. */
    reaching: Spread;
    /** Stops by operation of the VM. */
    operations: (Spread & { name: string })[];
    counts: { full: number };
    allocation: { per_second: number | null } | null;
    heap: { peak_after: number | null };
    findings: { id: string; severity: "serious" | "warning" | "note"; fact: string; advice: string }[];
    timeline: { from_ms: number; width_ms: number; buckets: { pauses: number; max_ms: number; full: number; used_before?: number | null; used_after?: number | null; capacity?: number | null }[] } | null;
    /** The longest pauses, the longest first. */
    worst?: { pause_ms: number; at_ms: number | null; kind: string; cause: string | null; heap: { before: number | null; after: number | null } | null }[];
  }[];
}

/** The findings of a recording, worst first. */
export interface FindingsReport {
  notes: string[];
  /** The change of CPU use that stands out. */
  change_sentence: string | null;
  findings: { rule: string; level: "serious" | "warning" | "ok"; headline: string; cause: string | null; next: string | null }[];
  /** Rules for which the recording lacks the events. */
  not_judged: { rule: string; needs: string[] }[];
}

/** What thread dumps show. */
export interface ThreadReport {
  notes: string[];
  report: {
    dumps: { threads: number; states: Record<string, number> }[];
    deadlocks: { steps: { thread: string; lock: string; owner: string; lock_id?: string; frames?: string[] }[] }[];
    locks: { class: string; id: string; owner: string | null; owner_frame: string | null; waiting: number }[];
    pools: { name: string; threads: number; states: Record<string, number>; frame: string }[];
    stacks: { threads: number; states: Record<string, number>; names: string[]; frames: string[] }[];
    moved: Moved | null;
  };
}

/** The changes from the first thread dump to the last. */
export interface Moved {
  elapsed_ms: number | null;
  started: number;
  ended: number;
  idle: number;
  /** `share` is of the time between the dumps, 0 to 1. */
  busy: { name: string; cpu_ms: number; share: number | null; frame: string }[];
  stuck: { name: string; state: string; frame: string; owner: string | null }[];
}

/** Thread dumps of several files, the oldest first. */
export interface ThreadsTogether extends Pick<ThreadReport, "notes" | "report"> {
  files: { id: string; name: string; dumps: number }[];
}

export type Unit = "count" | "milliseconds" | "bytes" | "bytes_per_second" | "percent" | "per_minute";

/** Garbage collection logs side by side. */
export interface GcComparison {
  logs: { id: string; name: string; collector: string | null; findings: GcReport["logs"][0]["findings"] }[];
  figures: { name: string; unit: Unit; values: (number | null)[] }[];
}
