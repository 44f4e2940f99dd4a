// JVMs that run: recordings that grow, a heap that fills, threads in a deadlock, names that try to do harm.
import { Problem, col, table } from "./tables.mjs";

const EVIL = "com.evil.<img src=x onerror=window.hacked=1>\u202e.run";
const STACKS = [
  ["com.acme.Main.main", "com.acme.http.Server.run", "com.acme.http.Handler.handle", "com.acme.json.Writer.escape"],
  ["com.acme.Main.main", "com.acme.http.Server.run", "com.acme.http.Handler.handle", "java.util.regex.Pattern$Loop.match", "java.util.regex.Pattern$Loop.match"],
  ["com.acme.Main.main", "com.acme.http.Server.run", "com.acme.session.Sessions.open", "java.util.HashMap.put", "java.util.HashMap.resize"],
  ["java.lang.Thread.run", "com.acme.cart.Sweeper.run", "java.util.ArrayList.removeIf"],
  ["java.lang.Thread.run", EVIL],
  // Seen late, so that names come before others that were there.
  ["com.acme.Batch.run", "com.acme.Batch.load", "java.io.FileInputStream.readBytes"],
];
const CLASSES = ["byte[]", "java.lang.String", "java.util.HashMap$Node", "com.acme.session.Session", "<b>com.evil.Bold</b>", "java.lang.Object[]", "com.evil.\u202eeman\u202c", ...Array.from({ length: 1400 }, (_, at) => `com.acme.gen${at % 37}.Type${at}`)];

const LIST = [
  { id: "4711", pid: 4711, name: "com.acme.shop.Main", version: "17.0.12", user: "shop", uptime: 93784, attachable: true, reason: null, agent: false, container: false, place: "local", host: null, offers: ["cpu", "wall", "alloc", "lock"] },
  { id: "1", pid: 1, name: "jenkins.war", version: "21.0.4", user: "jenkins", uptime: 120, attachable: false, reason: "its user is jenkins; run the server as that user or as root", agent: false, container: true, place: "local", host: null, offers: ["cpu", "wall", "alloc", "lock"] },
  { id: "net-1", pid: null, name: "<script>alert(1)</script> \u202emain", version: "11.0.2", user: "app", uptime: null, attachable: false, reason: null, agent: true, container: false, place: "network", host: "10.0.0.9:41222", offers: ["cpu"] },
  { id: "n2", pid: 812, name: "com.acme.Worker", version: null, user: "", uptime: 60, attachable: true, reason: null, agent: true, container: false, place: "network", host: "10.0.0.7:41234", offers: ["cpu", "alloc"] },
];

export class LiveJvms {
  constructor(jobs, speed) {
    this.jobs = jobs;
    this.jvms = new Map(LIST.map((jvm) => [jvm.id, { ...jvm, modes: jvm.id === "net-1" ? ["cpu"] : [], clock: jvm.id === "net-1" ? "cpu" : null, since: null, samples: 0, revision: 0, counts: new Map(), buckets: [], live: jvm.id === "net-1", turns: 0 }]));
    this.asked = [];
    this.timer = setInterval(() => this.tick(), 1000 / speed);
  }

  stop() {
    clearInterval(this.timer);
  }

  tick() {
    for (const jvm of this.jvms.values()) if (jvm.live && jvm.modes.length) this.grow(jvm);
  }

  grow(jvm) {
    jvm.turns++;
    const seen = jvm.turns > 2 ? STACKS : STACKS.slice(0, 5);
    seen.forEach((stack, at) => {
      const more = 3 + ((jvm.turns * (at + 3)) % 11);
      const key = stack.join("\n");
      jvm.counts.set(key, (jvm.counts.get(key) ?? 0) + more);
      jvm.samples += more;
    });
    jvm.revision++;
    const at = jvm.buckets.length ? jvm.buckets.at(-1).at + 1000 : Date.now();
    jvm.buckets.push({ at, samples: seen.length * 5 + ((jvm.turns * 7) % 13) });
    this.jobs.tell("jvm", { id: jvm.id, since: jvm.since ?? 0, revision: jvm.revision, samples: jvm.samples });
  }

  end(id) {
    Object.assign(this.jvms.get(id), { modes: [], live: false, agent: false, attachable: false, ended: "the JVM has ended" });
    this.jobs.tell("jvm_gone", { id });
  }

  list() {
    return { items: [...this.jvms.values()].map(head) };
  }

  async answer(method, id, [view, ...rest], query, body) {
    const jvm = this.jvms.get(id);
    if (!jvm) throw new Problem(404, "not-found", `There is no JVM ${id}.`);
    if (method === "POST") return this.act(jvm, view, body);
    if (!view) return detail(jvm);
    if (view === "histogram") return histogram(jvm, query);
    if (view === "threads") return THREADS;
    if (view === "memory") return memory(jvm);
    if (!jvm.revision) throw new Problem(409, "not-ready", "Nothing is recorded yet.");
    if (view === "timeline") return { seconds_per_bucket: 1, buckets: jvm.buckets };
    if (view === "profile") return profile(jvm, rest[0], query);
    throw new Problem(404, "not-found", "No such view.");
  }

  async act(jvm, action, body) {
    this.asked.push([action, body]);
    if (action === "attach" || action === "start") {
      if (body.options?.includes("nonsense")) throw new Problem(400, "bad-request", "nonsense: no such option of the agent");
      if (body.modes.includes("lock") && action === "start") throw new Problem(409, "conflict", "lock begins with the recording");
      const clock = body.modes.find((mode) => mode === "cpu" || mode === "wall");
      // The other clock begins the recording anew.
      if (clock && jvm.clock && clock !== jvm.clock) Object.assign(jvm, { modes: jvm.modes.filter((mode) => mode !== jvm.clock), samples: 0, revision: 0, counts: new Map(), buckets: [], turns: 0, since: null });
      jvm.clock = clock ?? jvm.clock;
      Object.assign(jvm, { agent: true, live: true, modes: [...new Set([...jvm.modes, ...body.modes])], since: jvm.since ?? Date.now(), ended: null });
      return detail(jvm);
    }
    if (action === "stop") {
      jvm.modes = jvm.modes.filter((mode) => !body.modes.includes(mode));
      return detail(jvm);
    }
    if (action === "detach") {
      // Allocations and locks are recorded once in the life of a JVM.
      Object.assign(jvm, { live: false, modes: [], spent: ["alloc", "lock"].filter((mode) => jvm.offers.includes(mode) && jvm.counts.has(mode) || jvm.modes.includes(mode)), ended: "the agent was detached" });
      this.jobs.tell("jvm_gone", { id: jvm.id });
      return detail(jvm);
    }
    if (action === "keep") return this.jobs.add(body.name ?? "kept-cpu", 120_000);
    if (action === "dump") {
      for (let bytes = 1e7; bytes <= 4e7; bytes += 1e7) {
        this.jobs.tell("jvm", { id: jvm.id, action: "dump", bytes });
        await new Promise((resolve) => setTimeout(resolve, 150));
      }
      return this.jobs.add(`${jvm.name}.hprof`, 4e7);
    }
    throw new Problem(404, "not-found", "No such action.");
  }
}

const head = ({ id, pid, name, version, user, host, uptime, attachable, reason, agent, live, container, place }) => ({ id, pid, name, version, user, host, uptime, attachable, reason, agent, live, container, place });

function detail(jvm) {
  const local = jvm.place === "local";
  const cost = jvm.live ? { cpu_percent: 0.4, memory_bytes: 3_200_000, sentence: "the agent takes 0.4% of one core" } : null;
  return { ...head(jvm), offers: jvm.offers, spent: jvm.live ? [] : (jvm.spent ?? []), modes: jvm.modes, clock: jvm.clock, since: jvm.since, revision: jvm.revision, samples: jvm.samples, cost, ended: jvm.ended ?? null, notes: [], can: { dump: local && jvm.attachable, histogram: local && jvm.attachable, threads: local && jvm.attachable, record: jvm.attachable || !local } };
}

/** A thousand threads, most of a pool. */
function threadsOf(total, waits) {
  const each = total / 1100;
  const share = waits / Math.max(1, total);
  const threads = Array.from({ length: 980 }, (_, at) => ({ key: String(100 + at), name: `http-nio-8080-exec-${at + 1}`, total: each * (1.25 - at / 2000), waits: each * (1.25 - at / 2000) * share, group: "group:http-nio-8080-exec-*" }));
  for (let at = 0; at < 18; at++) threads.push({ key: String(2000 + at), name: `ForkJoinPool-1-worker-${at + 1}`, total: each, waits: 0, group: "group:ForkJoinPool-1-worker-*" });
  threads.push({ key: "1", name: "main", total: each * 60, waits: 0, group: null }, { key: "2", name: "<b>evil</b>\u202e", total: each * 2, waits: 0, group: null });
  const groups = ["http-nio-8080-exec-*", "ForkJoinPool-1-worker-*"].map((name) => {
    const own = threads.filter((thread) => thread.group === "group:" + name);
    const sum = (key) => own.reduce((all, thread) => all + thread[key], 0);
    return { key: "group:" + name, name, threads: own.length, total: sum("total"), waits: sum("waits") };
  });
  return { threads: threads.sort((a, b) => b.total - a.total), groups };
}

const WAITING = ["java.lang.Thread.run", "java.util.concurrent.ThreadPoolExecutor.runWorker", "java.util.concurrent.ThreadPoolExecutor.getTask", "java.util.concurrent.LinkedBlockingQueue.take", "jdk.internal.misc.Unsafe.park"];

function root(jvm, waits = false) {
  const top = { name: "all", v: 0, s: 0, kids: new Map() };
  for (const [key, n] of [...jvm.counts, ...(waits ? [[WAITING.join("\n"), jvm.samples * 9]] : [])]) {
    let at = top;
    at.v += n;
    for (const name of key.split("\n")) {
      if (!at.kids.has(name)) at.kids.set(name, { name, v: 0, s: 0, kids: new Map() });
      at = at.kids.get(name);
      at.v += n;
    }
    at.s += n;
  }
  return top;
}

function profile(jvm, view, query) {
  // On the wall clock most threads wait for work.
  const isWall = jvm.clock === "wall";
  const top = root(jvm, isWall && query.get("busy") !== "true");
  const whole = root(jvm, isWall).v;
  const waits = whole - root(jvm, false).v;
  const facts = { unit: "samples", total: top.v, notes: [] };
  if (!view) return { ...facts, kind: "cpu", title: "CPU samples, 10 ms apart", dimensions: [{ key: isWall ? "wall" : "cpu", label: isWall ? "Wall-clock samples" : "CPU samples", unit: "samples", total: whole, waits }], ...threadsOf(whole, waits), has_timeline: true, revision: jvm.revision, seconds: Number(query.get("last") ?? jvm.turns) };
  if (view === "flame") {
    const frames = [];
    const index = (name) => (frames.includes(name) ? frames.indexOf(name) : frames.push(name) - 1);
    // The largest first: indexes change as the recording grows.
    const draw = (node) => ({ f: index(node.name), v: node.v, s: node.s, c: [...node.kids.values()].sort((a, b) => b.v - a.v).map(draw) });
    return { ...facts, root: draw(top), frames };
  }
  if (view === "methods") {
    const rows = new Map();
    const add = (node) => {
      const row = rows.get(node.name) ?? { name: node.name, self: 0, total: 0 };
      rows.set(node.name, { ...row, self: row.self + node.s, total: row.total + node.v });
      node.kids.forEach(add);
    };
    top.kids.forEach(add);
    return table([col("name", "text", "Method"), col("self", "count"), col("total", "count")], [...rows.values()].sort((a, b) => b.self - a.self), query);
  }
  if (view === "tree") {
    let at = top;
    for (const part of (query.get("node") ?? "").split(".").filter(Boolean)) at = [...at.kids.values()][Number(part)] ?? at;
    const rows = [...at.kids.values()].map((node, place) => ({ name: node.name, total: node.v, self: node.s, percent: (100 * node.v) / top.v, node: (query.get("node") ? query.get("node") + "." : "") + place, children: node.kids.size > 0 }));
    return table([col("name", "text", "Method"), col("total", "count"), col("percent", "percent", "Share"), col("self", "count")], rows.sort((a, b) => b.total - a.total), query);
  }
  throw new Problem(404, "not-found", "No such view.");
}

function histogram(jvm, query) {
  jvm.looks = (jvm.looks ?? 0) + (query.has("cursor") ? 0 : 1);
  const rows = CLASSES.map((name, at) => ({ name, objects: Math.round(400_000 / (at + 1)) + (at === 3 ? jvm.looks * 1000 : 0), shallow: Math.round(24_000_000 / (at + 1)) + (at === 3 ? jvm.looks * 40_000 : 0) }));
  return table([col("name", "text", "Class"), col("objects", "count"), col("shallow", "bytes")], rows, query, query.get("live") === "true" ? ["after a collection"] : []);
}

function memory(jvm) {
  jvm.memoryLooks = (jvm.memoryLooks ?? 0) + 1;
  const row = (name, resident, details = "", committed = null, used = null) => ({ name, resident, committed, used, details });
  const rows = [row("Java heap", 150e6, "", 400e6, 120e6), row("malloc in use", 200e6 + jvm.memoryLooks * 30e6, "other arenas 210.0 MB"), row("mapped files", 4e6, "<img src=x onerror=alert(1)>\u202e.bin 4.0 MB"), row("unexplained", 1e6)];
  const resident = rows.reduce((sum, row) => sum + row.resident, 0);
  return { resident, limit: 2e9, left: 2e9 - resident, causes: ["Libraries hold 230.0 MB of malloc memory that the JVM knows nothing of."], rows, facts: [{ name: "-Xmx", value: "536.9 MB" }], notes: ["native memory tracking is off"] };
}

const lock = (n) => `com.acme.cart.Cart @ 0x7f00${n}`;
const THREADS = {
  threads: [
    { name: "main", state: "RUNNABLE", os_id: 4712, cpu_ms: 8123, frames: STACKS[0].toReversed(), waits_for: null, holds: [] },
    { name: "worker-1", state: "BLOCKED", os_id: 4720, cpu_ms: 12, frames: ["com.acme.cart.Cart.add(Cart.java:41)", "java.lang.Thread.run(Thread.java:840)"], waits_for: { lock: lock(2), owner: "worker-2" }, holds: [lock(1)] },
    { name: "worker-2", state: "BLOCKED", os_id: 4721, cpu_ms: 9, frames: ["com.acme.cart.Cart.total(Cart.java:52)", "java.lang.Thread.run(Thread.java:840)"], waits_for: { lock: lock(1), owner: "worker-1" }, holds: [lock(2)] },
    { name: "<script>alert(1)</script>\u202e", state: "TIMED_WAITING", os_id: null, cpu_ms: null, frames: [], waits_for: { lock: "<i>lock</i>", owner: null }, holds: [] },
    ...Array.from({ length: 60 }, (_, at) => ({ name: `http-nio-8080-exec-${at}`, state: ["WAITING", "RUNNABLE"][at % 2], os_id: 5000 + at, cpu_ms: at * 31, frames: ["jdk.internal.misc.Unsafe.park(Native Method)", "java.lang.Thread.run(Thread.java:840)"], waits_for: null, holds: [] })),
  ],
  deadlocks: [{ sentence: `"worker-1" waits for ${lock(2)}, which "worker-2" holds; "worker-2" waits for ${lock(1)}, which "worker-1" holds`, threads: ["worker-1", "worker-2"] }],
  notes: [],
};
