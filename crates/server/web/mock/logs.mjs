// Reports of logs, with hostile names.
const EVIL = "<img src=x onerror=window.hacked=1>\u202egnp";
const spread = (name, max) => ({ name, count: 12, sum_ms: 4 * max, max_ms: max, p50_ms: max / 4, p95_ms: max / 2, p99_ms: max, p999_ms: max });
const group = (at) => ({ threads: 40 - at, states: { WAITING: 30, RUNNABLE: 10 - at }, names: ["worker-" + at, EVIL], cpu_ms: 12.5, frames: ["com.acme." + EVIL + ".take(Queue.java:7)", "com.acme.Worker.run(Worker.java:" + at + ")"] });

export const LOGS = {
  thread_dump: {
    version: "0.0.0-mock",
    title: "threads.txt",
    notes: ["1 of 2 dumps ends in the middle."],
    report: {
      dumps: [{ threads: 61, states: { WAITING: 40, RUNNABLE: 21 } }, { threads: 64, states: { WAITING: 42, RUNNABLE: 22 } }],
      deadlocks: [{ steps: [{ thread: EVIL, lock: "java.lang.Object", owner: "b" }, { thread: "b", lock: "java.lang.String", owner: EVIL }], is_reported: true }],
      locks: [{ class: "com.acme." + EVIL, id: "0x70f", owner: null, owner_frame: null, waiting: 17, names: ["a"] }],
      pools: [{ name: "worker-*", threads: 40, states: { WAITING: 40 }, cpu_ms: null, frame: "com.acme.Queue.take" }],
      stacks: Array.from({ length: 60 }, (_, at) => group(at)),
      threads: [],
      threads_left_out: 0,
      moved: {
        elapsed_ms: 9870,
        started: 3,
        ended: 0,
        idle: 40,
        busy: [{ name: EVIL, cpu_ms: 8123.4, share: 0.823, frame: "com.acme." + EVIL + ".spin(Spin.java:3)" }, { name: "main", cpu_ms: 12, share: null, frame: "com.acme.Main.main" }],
        stuck: [{ name: "worker-1", state: "BLOCKED", frame: "com.acme.Queue.take", owner: EVIL, cpu_ms: null }],
      },
    },
  },
  gc_log: {
    version: "0.0.0-mock",
    measures: null,
    logs: [
      {
        file: "gc.log",
        notes: [],
        collector: "G1",
        jvm: EVIL,
        pauses: spread("", 120),
        throughput: 0.9731,
        kinds: [spread("Young", 120), spread(EVIL, 80)],
        causes: [spread("G1 Evacuation Pause", 120)],
        cycles: [spread("Concurrent Mark Cycle", 300)],
        stops: spread("", 130),
        reaching: spread("", 4),
        operations: [spread("G1CollectForAllocation", 121), spread(EVIL, 3)],
        counts: { full: 2 },
        allocation: { per_second: 5e8, bytes: 5e9, is_exact: true },
        heap: { peak_after: 2e8 },
        findings: [{ id: "full", severity: "serious", fact: "2 full collections took 1.2 s", advice: "Give the heap more room with -Xmx." }],
        timeline: { from_ms: 0, width_ms: 1000, buckets: Array.from({ length: 120 }, (_, at) => ({ pauses: at % 3, sum_ms: at, max_ms: at % 17, full: at % 50 === 49 ? 1 : 0, used_before: 3e8 + at * 4e6, used_after: 1e8 + at * 4e6, capacity: 1e9 })) },
        worst: [{ pause_ms: 800.5, at_ms: 49_000, kind: "Pause Full", cause: "Ergonomics", heap: { before: 9e8, after: 2e8 } }, { pause_ms: 12.25, at_ms: null, kind: "Pause Young", cause: null, heap: null }],
      },
    ],
  },
};

const log = LOGS.gc_log.logs[0];

/** Logs side by side, and thread dumps together. */
export function compared(room, dumps) {
  if (room === "stacks") return { files: dumps.map(({ id, name }, at) => ({ id, name, dumps: at + 1 })), notes: [], report: LOGS.thread_dump.report };
  return {
    logs: dumps.map(({ id, name }) => ({ id, name, collector: log.collector, findings: log.findings })),
    figures: [["pauses", "count", 12], ["longest pause", "milliseconds", 120], ["throughput", "percent", 97.3], ["heap in use, at most", "bytes", 2e8], ["allocation", "bytes_per_second", 5e8], ["pauses a minute", "per_minute", 3.25], [EVIL, "count", null]].map(([name, unit, value]) => ({ name, unit, values: dumps.map((_, at) => (value === null ? null : value * (at + 1))) })),
  };
}

/** The files of a rotated log as one. */
export function joined(jobs, { dumps }) {
  const length = dumps.map((id) => jobs.find(id).bytes).reduce((sum, bytes) => sum + bytes, 0);
  return jobs.add(`gc.log (${dumps.length} files)`, length);
}
