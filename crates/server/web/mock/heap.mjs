// Views of a made-up heap: a cache of sessions that grew, among names that try to do harm.
import { Problem, col, table } from "./tables.mjs";

const NAMES = [
  "byte[]", "java.lang.String", "java.util.HashMap$Node", "com.acme.session.Session", "java.util.HashMap", "java.util.HashMap$Node[]", "java.lang.Object[]", "java.util.ArrayList",
  "com.acme.session.SessionCache", "com.acme.cart.Item", "java.util.concurrent.ConcurrentHashMap$Node", "char[]", "int[]", "java.lang.Class", "java.lang.reflect.Method",
  "<img src=x onerror=window.hacked=1>", "com.evil.\u202eexe.fdp\u202c", "com.evil.Tab\tNew\nLine\u0000Null", "com.acme.Sehr\u200bLanger" + "Name".repeat(40), "\u05d0\u05d1\u05d2.\u05d3\u05d4.Hebrew", "com.acme.订单.缓存", "java.lang.invoke.LambdaForm$MH/0x00007f1234",
];
const hex = (n) => "0x" + (0x7f0000000000 + n * 24).toString(16);
const random = (seed) => {
  let state = seed * 2654435761 >>> 0 || 1;
  return () => ((state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9 >>> 0) / 2 ** 32);
};
const LIVE = 512_334_112;
const SUMS = [col("name", "text", "Class"), col("objects", "count"), col("shallow", "bytes"), col("retained", "bytes"), col("percent", "percent", "Of heap")];

function sums(name, index, scale = 1) {
  const next = random(index + 7);
  const objects = Math.round((4e6 * scale) / (index + 1) ** 1.3 * (0.6 + next()));
  const shallow = objects * (16 + 8 * Math.floor(next() * 6));
  const retained = Math.min(LIVE, Math.round(shallow * (1 + 4 * next())));
  return { name, objects, shallow, retained, percent: (100 * retained) / LIVE, retained_is_exact: index % 5 !== 2 };
}

const classRows = (count) => Array.from({ length: count }, (_, index) => {
  const name = NAMES[index] ?? `com.acme.gen${index % 97}.Type${index}`;
  return { ...sums(name, index), class: hex(900000 + index) };
});
const CLASSES = classRows(1800);
const PACKAGES = ["java.util", "java.lang", "com.acme.session", "com.acme.cart", "com.acme.io", "<script>alert(1)</script>"].map((name, index) => sums(name, index, 2));
const LOADERS = ["<boot>", "jdk.internal.loader.ClassLoaders$AppClassLoader @ 0x7f00000186a0", "org.springframework.boot.loader.LaunchedURLClassLoader @ 0x7f0000030d40"].map((name, index) => ({ ...sums(name, index, 3), classes: 4210 >> index, object: hex(5000 + index) }));

const describe = (n) => n === 1 ? "com.acme.session.SessionCache @ cache" : n % 9 === 4 ? `java.lang.String "<b>user-${n}</b>\u202e"` : n % 9 === 5 ? `java.util.HashMap (${n % 5000} entries)` : `${NAMES[n % NAMES.length]}`;
const numberOf = (oid) => Math.round((Number.parseInt(oid, 16) - 0x7f0000000000) / 24);

function objectRow(n, weight) {
  const retained = Math.max(24, Math.round(weight));
  return { name: describe(n), shallow: 16 + (n % 12) * 8, retained, percent: (100 * retained) / LIVE, object: hex(n), class: hex(900000 + (n % NAMES.length)), node: hex(n), children: retained > 200 };
}

const DOMINATED = [col("name", "text", "Object"), col("shallow", "bytes"), col("retained", "bytes"), col("percent", "percent", "Of heap")];

function dominators(query) {
  const by = query.get("by") ?? "object";
  const node = query.get("node");
  if (by !== "object") {
    const rows = (by === "class" ? CLASSES : by === "package" ? PACKAGES : LOADERS).map((row) => ({ ...row, node: node ? node + "/" + row.name : row.name, children: (node ?? "").split("/").length < 4, object: undefined }));
    return table([DOMINATED[0], col("objects", "count"), ...DOMINATED.slice(1)], rows, query);
  }
  const parent = node ? numberOf(node) : 0;
  const weight = node ? LIVE / (2 + (parent % 50)) : LIVE;
  const length = node ? 3 + ((parent * 7) % 400) : 1_000_000;
  return table(DOMINATED, { length, at: (at) => objectRow(parent * 13 + at + 1, (weight * 0.45) / (at + 1) ** 1.2) }, query);
}

function treemap(query) {
  const node = query.get("node");
  const grow = (n, bytes, depth) => {
    const children = [];
    let left = bytes * 0.94;
    for (let at = 0; at < 9 && depth > 0; at++) {
      const part = Math.round(left * 0.42);
      if (part < LIVE * 0.002) break;
      left -= part;
      children.push({ node: hex(n * 11 + at + 1), name: describe(n * 11 + at + 1), bytes: part, children: grow(n * 11 + at + 1, part, depth - 1) });
    }
    if (left > LIVE * 0.002 && depth > 0) children.push({ node: null, name: "byte[] (many)", bytes: Math.round(left * 0.8), children: [] });
    return children;
  };
  const n = node ? numberOf(node) : 0;
  const bytes = node ? LIVE / 3 : LIVE;
  return { node, name: node ? describe(n) : "Live heap", bytes, children: grow(n, bytes, Number(query.get("depth") ?? 2)) };
}

const step = (n, field, retained) => ({ object: hex(n), name: describe(n), field, retained });
const PATH = [step(2, null, 4096), step(10, "static INSTANCE", 320e6), step(1, "cache", 314e6), step(14, "map", 314e6), step(15, "table", 313e6), step(17, "[4211]", 52_112)];
const SUSPECTS = [
  { title: "The field com.acme.session.Sessions.cache keeps 314.6 MB alive, 61.4% of the heap: one com.acme.session.SessionCache, filled with 210,422 objects of class com.acme.session.Session, held by the static field com.acme.session.Sessions.INSTANCE", code: "0a1b2c3d4e5f6071", field: "com.acme.session.Sessions.cache", sentences: ["It is held by the static field com.acme.session.Sessions.INSTANCE, through the fields com.acme.session.Sessions.cache and com.acme.session.SessionCache.map.", "Each object of class com.acme.session.Session keeps 1.5 kB alive on average, in a java.util.HashMap$Node.", "Most of the memory is in byte[] (201.3 MB) and java.lang.String (48.1 MB)."], percent: 61.4, bytes: 314_573_144, object: hex(1), class: hex(900008), root: "system class", path: PATH, accumulation: PATH[3], children: [{ class: "java.util.HashMap$Node[]", count: 1, bytes: 313e6 }, { class: NAMES[15], count: 12, bytes: 4211 }] },
  { title: "com.evil.<b>Bold</b> keeps 40.1 MB alive, 7.8% of the heap.", sentences: ["Thread main keeps it in the local variable of \u202emain\u202c."], percent: 7.8, bytes: 40_100_000, object: hex(33), class: null, root: "running thread \"<b>main</b>\"", path: PATH.slice(0, 2), accumulation: null, children: [] },
];

const FIELDS = [col("name"), col("type"), col("value"), col("declared_in", "text", "Declared in")];
const fieldRows = (n) => [
  { name: "map", type: "java.util.Map", value: describe(n + 4), object: hex(n + 4), declared_in: "com.acme.session.SessionCache" },
  { name: "limit", type: "int", value: "250000", declared_in: "com.acme.session.SessionCache" },
  { name: "name", type: "java.lang.String", value: '"<svg onload=alert(1)>"', object: hex(n + 6), declared_in: "com.acme.Base" },
  { name: "listeners", type: "java.util.List", value: "null", declared_in: "com.acme.Base" },
];
const REFS = [col("field"), col("name", "text", "Object"), col("class", "text"), col("shallow", "bytes"), col("retained", "bytes")];

function object(oid, rest, query) {
  const n = numberOf(oid);
  if (!(n >= 0)) throw new Problem(404, "no-such-object", "The dump has no object " + oid + ".");
  switch (rest[0]) {
    case undefined: {
      const row = objectRow(n, LIVE / (n + 1));
      const value = n % 9 === 4 ? { kind: "string", text: `<b>user-${n}</b>\u202etxt\nsecond line`, truncated: true } : n % 9 === 5 || n === 1 ? { kind: "collection", text: `${n % 5000} entries`, truncated: false } : null;
      return { object: oid, class: { id: row.class, name: NAMES[n % NAMES.length] }, name: row.name, shallow: row.shallow, retained: row.retained, percent: row.percent, is_live: n % 7 !== 3, is_class: n >= 900000, length: null, value, loader: "app", loader_object: hex(5001), dominator: n > 1 ? { object: hex(Math.floor(n / 2)), name: describe(Math.floor(n / 2)) } : null, trace: n % 4 === 1 ? ["com.acme.session.Sessions.open(Sessions.java:41)", "com.acme.Main.<script>run(Main.java:7)"] : null, root: n === 2 ? ["system class"] : [] };
    }
    case "fields":
      return table(FIELDS, query.get("statics") ? [{ name: "INSTANCE", type: "com.acme.session.Sessions", value: describe(10), object: hex(10), declared_in: "" }] : fieldRows(n), query);
    case "retained":
      return table(SUMS.slice(0, 3), CLASSES.slice(0, 30), query);
    case "entries":
      return table([col("key"), col("value")], { length: 2400, at: (at) => ({ key: `"user-${at}"`, value: describe(at + 100), key_object: hex(at * 2 + 40000), value_object: hex(at + 100) }) }, query);
    case "references":
      return table(REFS, Array.from({ length: query.get("direction") === "in" ? 3 : 140 }, (_, at) => ({ ...objectRow(n * 3 + at + 5, 5e6 / (at + 1)), field: query.get("direction") === "in" ? ["map", "static INSTANCE", "[12]"][at] : `[${at}]`, class: NAMES[(n + at) % NAMES.length] })), query);
    case "path":
      return { root: n % 7 === 3 ? null : "thread <b>main</b>", notes: [], items: n % 7 === 3 ? [] : n === 15 ? Array.from({ length: 60 }, (_, at) => step(at + 2, at ? "next" : null, 1e8 - at * 1e6)) : [...PATH.slice(0, 3), step(n, "value", 5212)] };
    default:
      throw new Problem(404, "not-found", "No such view.");
  }
}

function klass(cid, rest, query) {
  const row = CLASSES[numberOf(cid) - 900000] ?? CLASSES[0];
  if (rest[0] === "instances") return table([col("name", "text", "Object"), col("shallow", "bytes"), col("retained", "bytes")], { length: Math.max(1, row.objects), at: (at) => objectRow(at * 22 + 3, 4e6 / (at + 1)) }, query);
  if (rest[0] === "references") return table([SUMS[0], SUMS[1], col("references", "count"), SUMS[2]], CLASSES.slice(0, query.get("direction") === "in" ? 12 : 25).map((found) => ({ ...found, references: found.objects * 2 })), query);
  if (rest[0] === "paths") {
    const grow = (depth, percent) => ({ name: ["system class", "class com.acme.session.Sessions", "com.acme.session.SessionCache", "java.util.HashMap", NAMES[15]][depth], count: Math.ceil((row.objects * percent) / 100), percent, objects: 1, repeated: depth === 3 ? 12 : 1, children: depth < 4 ? [grow(depth + 1, percent * 0.8), { name: "thread main", count: 3, percent: 0.1, objects: 1, repeated: 1, children: [] }] : [] });
    return { name: row.name, count: row.objects, children: [grow(0, 97)], notes: [] };
  }
  return { id: cid, name: row.name, superclass: { id: hex(900006), name: "java.lang.Object" }, loader: "app", loader_object: hex(5001), instances: row.objects, unreached: 12, shallow: row.shallow, retained: row.retained, retained_is_exact: true, instance_bytes: 40, fields: [], statics: [], subclasses: [{ id: hex(900003), name: NAMES[3] }] };
}

const simple = (columns, rows, notes) => (query) => table(columns, rows, query, notes);
const none = (columns, note) => (query) => table(columns, [], query, [note]);
const THREADS = Array.from({ length: 64 }, (_, at) => ({ name: at === 3 ? "<script>alert(1)</script> \u202ereversed" : at ? `http-nio-8080-exec-${at}` : "main", state: ["RUNNABLE", "WAITING", "TIMED_WAITING"][at % 3], retained: Math.round(8e6 / (at + 1)), frames: 12 + at, object: hex(300 + at) }));

const TABLES = {
  histogram: (query) => {
    const by = query.get("by") ?? "class";
    const rows = by === "package" ? PACKAGES : by === "loader" ? LOADERS : CLASSES;
    return table([{ ...SUMS[0], label: by[0].toUpperCase() + by.slice(1) }, ...SUMS.slice(1)], rows, query);
  },
  dominators,
  roots: (query) => query.get("kind")
    ? table(DOMINATED, { length: 4212, at: (at) => objectRow(at * 3 + 2, 1e7 / (at + 1)) }, query)
    : table([col("name", "text", "Kind"), col("objects", "count"), col("retained", "bytes")], [["system class", 3120, 351e6], ["thread", 64, 41e6], ["Java frame", 812, 22e6], ["JNI global", 211, 1.2e6]].map(([name, objects, retained]) => ({ name, objects, retained, node: name, children: true })), query),
  threads: simple([col("name", "text", "Thread"), col("state"), col("frames", "count"), col("retained", "bytes")], THREADS),
  loaders: simple([col("name", "text", "Loader"), col("classes", "count"), col("objects", "count"), col("retained", "bytes")], LOADERS),
  "duplicate-classes": simple([col("name", "text", "Class"), col("loaders", "count"), col("retained", "bytes")], [{ name: "com.acme.cart.Item", loaders: 3, retained: 81233, class: hex(900009) }]),
  duplicates: simple([col("content"), col("kind"), col("count", "count"), col("each", "bytes"), col("wasted", "bytes")], Array.from({ length: 120 }, (_, at) => ({ content: at === 2 ? "\u0000\u0001\u202e<b>x</b>" : at % 3 ? `"customer-${at}"` : "00 00 00 00 …", kind: at % 3 ? "String" : "byte[]", count: 9000 - at * 60, each: 48 + at, wasted: (9000 - at * 60) * (48 + at), object: hex(at * 5 + 7) }))),
  collections: simple([col("name", "text", "Collection"), col("problem"), col("count", "count"), col("wasted", "bytes")], [["java.util.HashMap", "empty", 81211, 3.9e6], ["java.util.ArrayList", "less than a quarter full", 12012, 2.1e6], ["java.util.ArrayList", "one element", 42012, 1.8e6]].map(([name, problem, count, wasted]) => ({ name, problem, count, wasted, class: hex(900004) }))),
  unreachable: simple(SUMS.slice(0, 3), CLASSES.slice(0, 40)),
  buffers: none([col("name")], "The dump has no direct byte buffers."),
  references: simple([col("name", "text", "Class"), col("kind"), col("objects", "count"), col("retained", "bytes")], [["java.lang.ref.WeakReference", "weak", 8211, 12e5], ["java.lang.ref.SoftReference", "soft", 431, 9e5], ["java.lang.ref.Finalizer", "final", 211, 3e5]].map(([name, kind, objects, retained]) => ({ name, kind, objects, retained, class: hex(900014) }))),
  properties: simple([col("name"), col("value")], [["java.version", "17.0.12"], ["java.home", "/usr/lib/jvm/17"], ["user.dir", "/srv/shop"], ["db.password", "****"], ["evil\u202e", "<script>alert(1)</script>"], ["java.class.path", "/srv/shop/lib/a.jar:".repeat(40)]].map(([name, value]) => ({ name, value }))),
  environment: simple([col("name"), col("value")], [["PATH", "/usr/bin:/bin"], ["LANG", "C.UTF-8"]].map(([name, value]) => ({ name, value }))),
  android: none([col("name")], "This is not a dump of Android."),
  sites: none([col("name")], "The dump has no allocation traces."),
};

const SCHEMA = {
  tables: [
    { name: "objects", about: "A row for each object.", columns: [["id", "text"], ["class", "text"], ["size", "integer"], ["retained", "integer"], ["live", "integer"], ["dominator", "text"]].map(([name, type]) => ({ name, type, about: "" })) },
    { name: "classes", about: "A row for each class of a loader.", columns: [["id", "text"], ["name", "text"], ["objects", "integer"], ["retained", "integer"]].map(([name, type]) => ({ name, type, about: name === "retained" ? "bytes freed without all instances" : "" })) },
  ],
  examples: [{ title: "Which classes keep most alive?", sql: "SELECT name, objects, retained FROM classes ORDER BY retained DESC LIMIT 20" }, { title: "The largest objects", sql: "SELECT id, class, retained FROM objects ORDER BY retained DESC LIMIT 20" }],
};

export function runQuery({ sql }) {
  if (!/^\s*(select|with)\b/i.test(sql ?? "")) throw new Problem(400, "bad-query", `near "${String(sql).slice(0, 12)}": syntax error`);
  const objects = /\bobjects\b\s*(where|order|$)/i.test(sql);
  // What the command says of an identifier that no object has; it quotes the query.
  const id = /\bid = ('.*'|\d+)/s.exec(sql)?.[1];
  const notes = id ? [`no object has the identifier ${id}: identifiers are text such as '${hex(1)}'`] : [];
  const rows = CLASSES.slice(0, id ? 0 : 60).map((row, at) => objects ? [hex(at + 1), row.name, row.retained] : [row.name, row.objects, row.retained]);
  return { columns: objects ? [col("id", "object"), col("class"), col("retained", "bytes")] : [col("name"), col("objects", "count"), col("retained", "bytes")], rows, truncated: false, notes, millis: 12 };
}

export function heapView(dump, [view, ...rest], query) {
  if (view === "objects") return object(rest[0], rest.slice(1), query);
  if (view === "classes") return klass(rest[0], rest.slice(1), query);
  if (view === "threads" && rest[0]) {
    const thread = THREADS.find((row) => row.object === rest[0]) ?? THREADS[0];
    return { name: thread.name, state: thread.state, properties: { daemon: "true", priority: "5" }, other_locals: [{ object: hex(71), name: describe(71), retained: 900, kind: "JNI local" }], frames: Array.from({ length: thread.frames }, (_, at) => ({ method: at === 2 ? "com.evil.<b>run</b>(X.java:1)" : `com.acme.http.Filter${at}.doFilter(Filter${at}.java:${40 + at})`, locals: at % 4 ? [] : [{ object: hex(at + 61), name: describe(at + 61), retained: 82_000 / (at + 1) | 0, kind: "Java frame" }] })) };
  }
  if (view === "overview") return { file: dump.name, created_at: Date.UTC(2025, 4, 3, 9, 12), model: "Sizes follow HotSpot with compressed references and 8-byte alignment.", notes: dump.name.includes("evil") ? ["One segment was cut: <b>3 objects</b> are missing."] : [], observations: [{ kind: "deadlock", title: "Deadlock: 2 threads wait for each other and will never go on.", sentences: ["\"<b>writer</b>\" waits for the java.util.concurrent.locks.ReentrantLock 0x7001, which \"reader\" holds."] }], summary: { live_objects: 9_213_411, live_bytes: LIVE, unreached_objects: 120_332, unreached_bytes: 8_233_112, classes: 18_233, loaders: 21, roots: 4207, threads: 64 }, jvm: { Version: "17.0.12+7 (Eclipse Adoptium)", "Garbage collector": "G1", "Maximum heap": "2,147.5 MB", Command: "com.acme.shop.Main --profile=prod" }, biggest: Array.from({ length: 10 }, (_, at) => ({ object: hex(at + 1), name: describe(at + 1), retained: Math.round((LIVE * 0.61) / (at + 1) ** 1.6), percent: 61 / (at + 1) ** 1.6 })), empty: dump.name.includes("evil") ? [] : ["buffers"] };
  if (view === "suspects") return { items: SUSPECTS };
  if (view === "treemap") return treemap(query);
  if (view === "query") return SCHEMA;
  if (view === "compare") {
    const keys = ["objects", "shallow", "retained"];
    const title = (key, side) => `${key[0].toUpperCase() + key.slice(1)} ${side === "a" ? "before" : side === "b" ? "after" : "change"}`;
    const sided = (sides) => [...keys].reverse().flatMap((key) => sides.map((side) => col(`${key}_${side}`, key === "objects" ? "count" : "bytes", title(key, side))));
    const columns = [col("name", "text", "Class"), ...sided(["delta"]), ...sided(["a", "b"])];
    const rows = (query.get("by") === "package" ? PACKAGES : CLASSES.slice(0, 300)).map((row, at) => ({ name: row.name, class: row.class, ...Object.fromEntries(keys.flatMap((key) => { const before = Math.round(row[key] * (at % 4 ? 1.1 : 0.6)); return [[key + "_a", before], [key + "_b", row[key]], [key + "_delta", row[key] - before]]; })) }));
    return table(columns, rows, query);
  }
  const found = TABLES[view];
  if (!found) throw new Problem(404, "not-found", "No such view.");
  return found(query);
}
