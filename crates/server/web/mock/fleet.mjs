// Questions over many dumps, made up, with hostile names.
import { Problem, col, table } from "./tables.mjs";

const EVIL = "<img src=x onerror=window.hacked=1>\u202egnp";
const NAMES = ["com.acme.session.Session", "byte[]", "java.util.HashMap$Node", "com.evil.<script>window.hacked=1</script>", "com.acme.cart.Cart", "java.lang.String"];
const NOW = Date.now();
const DAY = 86400e3;

const SERVICES = [
  { service: "shop", hosts: 12, dumps: 60, live: 9.1e9, newest: NOW - 0.1 * DAY, array_waste: 7.2e8, string_waste: 5.1e8, percent: 7.91 },
  { service: "checkout", hosts: 4, dumps: 9, live: 2.2e9, newest: NOW - DAY, array_waste: 1.1e8, string_waste: null, percent: 5 },
  { service: EVIL, hosts: 1, dumps: 3, live: 5e7, newest: NOW - 2 * DAY, array_waste: 1e6, string_waste: 2e5, percent: 2 },
  { service: "unknown", hosts: 1, dumps: 1, live: 1e7, newest: NOW - 9 * DAY, array_waste: 0, string_waste: 0, percent: 0 },
];
const SUSPECTS = [
  { signature: "java.util.HashMap in com.acme.session.SessionCache.ENTRIES, com.acme.session.Store.map", services: 2, hosts: 9, dumps: 31, most_retained: 5.2e8, percent: 61.4, first_seen: NOW - 30 * DAY, last_seen: NOW, code: "0a1b2c3d4e5f6071", title: "One java.util.HashMap keeps 520.0 MB alive, 61.4% of the heap" },
  { signature: `many ${EVIL} in a stack`, services: 1, hosts: 1, dumps: 1, most_retained: 3e6, percent: 12, first_seen: NOW - DAY, last_seen: NOW - DAY, code: "ffffffffffffffff", title: `${EVIL} keeps 3.0 MB alive` },
];

export function fleetView(rest, query, dumps) {
  const [view, of] = rest;
  const service = query.get("service");
  if (view === "services") return table([col("service"), col("hosts", "count"), col("dumps", "count"), col("live", "bytes"), col("newest", "time", "Newest dump")], SERVICES, query);
  if (view === "waste") return table([col("service"), col("hosts", "count"), col("array_waste", "bytes", "Equal arrays"), col("string_waste", "bytes", "Equal strings"), col("live", "bytes"), col("percent", "percent")], SERVICES, query);
  if (view === "builds") {
    const builds = service === "checkout" ? ["7"] : ["813", "812", EVIL];
    return table([col("build"), col("hosts", "count"), col("dumps", "count"), col("newest", "time")], builds.map((build, at) => ({ build, hosts: 3, dumps: 5, newest: NOW - at * DAY })), query);
  }
  if (view === "growth") {
    const last = Number(query.get("last") ?? 5);
    const factor = query.get("by") === "shallow" ? 1 : 3;
    const rows = NAMES.map((name, at) => {
      const trend = Array.from({ length: last }, (_, n) => factor * 1e6 * (NAMES.length - at) * (1 + n * n));
      return { name, trend, grown_delta: trend.at(-1) - trend[0], first_bytes: trend[0], last_bytes: trend.at(-1), objects: 1000 * (at + 1), hosts: 1 + at };
    });
    const columns = [col("name", "text", "Class"), col("trend", "series"), col("grown_delta", "bytes", "Growth"), col("first_bytes", "bytes", "First"), col("last_bytes", "bytes", "Last"), col("objects", "count"), col("hosts", "count")];
    return table(columns, service === "unknown" ? [] : rows, query, [...(service === "unknown" ? ["no class of the service grew in each of these dumps"] : []), "each dump counts with the 100 classes that retain most"]);
  }
  if (view === "regressions") {
    const rows = query.get("old") === query.get("new") ? [] : NAMES.map((name, at) => ({ name, old: 1e6 * at, new: 3e6 * (at + 1), grown_delta: 3e6 * (at + 1) - 1e6 * at, old_hosts: 3, new_hosts: 4 }));
    return table([col("name", "text", "Class"), col("old", "bytes", "Old build"), col("new", "bytes", "New build"), col("grown_delta", "bytes", "Growth"), col("old_hosts", "count"), col("new_hosts", "count")], rows, query);
  }
  if (view === "suspects" && of) {
    const rows = of === SUSPECTS[0].code ? ["shop", EVIL].map((name, at) => ({ service: name, hosts: 8 - at, dumps: 30 - at, most_retained: 5e8 - at, percent: 61.4, first_seen: NOW - 30 * DAY, last_seen: NOW, dump: dumps[0].id })) : [];
    return table([col("service"), col("hosts", "count"), col("dumps", "count"), col("most_retained", "bytes", "Most retained"), col("percent", "percent"), col("first_seen", "time"), col("last_seen", "time")], rows, query);
  }
  if (view === "suspects") {
    const code = query.get("code");
    const rows = SUSPECTS.filter((row) => (!code || row.code === code) && (!service || service === "shop"));
    return table([col("signature", "text", "Suspect"), col("services", "count"), col("hosts", "count"), col("dumps", "count"), col("most_retained", "bytes", "Most retained"), col("percent", "percent"), col("first_seen", "time"), col("last_seen", "time")], rows, query);
  }
  throw new Problem(404, "not-found", "No such question.");
}
