// A made-up CPU profile.
import { Problem, col, table } from "./tables.mjs";

const METHODS = ["com.acme.Main.main", "com.acme.http.Server.run", "com.acme.http.Handler.handle", "com.acme.json.Writer.escape", "java.util.regex.Pattern$Loop.match", "java.util.HashMap.get", "java.lang.String.hashCode", "com.acme.session.Sessions.open", "<native>", "com.evil.<script>alert(1)</script>", "java.io.FileInputStream.readBytes", "com.acme.cart.Cart.total", "com.acme.\u202eevil\u202c.run"];

function tree(invert, differs) {
  const frames = ["all", ...METHODS];
  let seed = invert ? 99 : 7;
  const next = () => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff;
  const grow = (f, v, depth) => {
    const c = [];
    let left = v;
    for (let at = 0; at < 4 && depth < 18 && left > 2; at++) {
      const part = Math.floor(left * (0.35 + 0.3 * next()));
      if (part < 1) break;
      left -= part;
      c.push(grow(1 + ((f * 3 + at * 5 + depth) % METHODS.length), part, depth + 1));
    }
    return { f, v, s: left, ...(differs ? { d: Math.round(v * (next() - 0.45)) } : {}), c };
  };
  return { frames, unit: "samples", total: 48211, root: grow(0, 48211, 0), notes: differs ? ["frames that only the profile before has are not shown"] : [] };
}

const COLUMNS = [col("name", "text", "Method"), col("own", "count"), col("self", "count"), col("total", "count"), col("percent", "percent", "Of all")];
const rows = METHODS.map((name, at) => ({ name, own: /^(java|jdk|sun)\./.test(name) ? null : Math.round(25000 / (at + 1)), self: Math.round(18000 / (at + 1)), total: Math.round(40000 / (at + 1)), percent: 40 / (at + 1) }));

export function profileView([room, view], query) {
  if (room !== "profile") throw new Problem(404, "not-found", "No such view.");
  if (!view) return { kind: "cpu", unit: "samples", total: 48211, title: "CPU samples, 10 ms apart", dimensions: [{ key: "cpu", label: "CPU samples", unit: "samples", total: 48211 }, { key: "wall", label: "Wall clock", unit: "samples", total: 90120, waits: 41909 }], threads: ["main", "http-1", "<b>evil</b>"].map((name, at) => ({ key: name, name, total: 20000 / (at + 1) })), notes: ["12 samples were lost"], remarks: ["hprof-rs: lost_samples=12", "hprof-rs: walker=y walks_in_heap=0"], has_timeline: false };
  if (view === "flame") return tree(query.get("invert") === "true", false);
  if (view === "compare") return tree(false, true);
  if (view === "methods") return table(COLUMNS, rows, query);
  if (view === "tree") return table(COLUMNS, rows.slice(0, 6).map((row, at) => ({ ...row, node: (query.get("node") ?? "r") + "." + at, children: (query.get("node") ?? "").length < 12 })), query);
  throw new Problem(404, "not-found", "No such view.");
}
