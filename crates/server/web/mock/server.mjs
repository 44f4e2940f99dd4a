// A server without analysis, for work on the page and for its tests: same addresses, same headers as the
// real one (security headers as well), made-up data with hostile names among it.
import { readFileSync, existsSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { fleetView } from "./fleet.mjs";
import { heapView, runQuery } from "./heap.mjs";
import { Jobs } from "./jobs.mjs";
import { LiveJvms } from "./live.mjs";
import { compared, joined, LOGS } from "./logs.mjs";
import { profileView } from "./profile.mjs";
import { Problem } from "./tables.mjs";

const DIST = join(fileURLToPath(new URL(".", import.meta.url)), "..", "dist");
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml" };
const HEADERS = {
  "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
};

/** Starts it; `speed` makes jobs faster, `token` asks for a session, `jvms: false` lists no JVMs, `logs` lists logs, `storage`
 * takes uploads. */
export function start({ port = 0, speed = 1, token = null, jvms = true, logs = false, storage = null } = {}) {
  const jobs = new Jobs(speed, logs);
  const live = jvms ? new LiveJvms(jobs, speed) : null;
  const server = createServer((request, response) => {
    void answer(request, response, jobs, live, token, storage).catch((error) => {
      const problem = error instanceof Problem ? error : new Problem(500, "internal", String(error?.stack ?? error));
      if (!response.headersSent) response.writeHead(problem.status, { ...HEADERS, "content-type": "application/problem+json" });
      response.end(JSON.stringify({ type: problem.type ?? "about:blank", title: problem.title, status: problem.status, detail: problem.detail }));
    });
  });
  return new Promise((resolve) => {
    server.listen(port, "127.0.0.1", () => {
      const url = `http://127.0.0.1:${server.address().port}`;
      resolve({ url, jobs, live, close: () => (jobs.stop(), live?.stop(), server.closeAllConnections(), new Promise((done) => server.close(done))) });
    });
  });
}

const body = async (request) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts);
};

async function answer(request, response, jobs, live, token, storage) {
  const url = new URL(request.url, "http://mock");
  const json = (value, status = 200, headers = {}) => {
    response.writeHead(status, { ...HEADERS, "content-type": "application/json", "cache-control": "no-store", ...headers });
    response.end(value === undefined ? "" : JSON.stringify(value));
  };
  if (token && url.searchParams.get("token") === token) {
    response.writeHead(303, { ...HEADERS, location: "/", "set-cookie": `hprof_rs_session=${token}; HttpOnly; SameSite=Strict; Path=/` });
    return response.end();
  }
  if (!url.pathname.startsWith("/api/")) return file(url.pathname, response, storage);
  if (token && !request.headers.cookie?.includes(token)) throw new Problem(401, "unauthorized", "Open the link that the server printed.");
  const parts = url.pathname.replace(/^\/api\/v1\/?/, "").split("/").map(decodeURIComponent);
  const [room, id, ...rest] = parts;
  const { method } = request;
  if (room === "server") return json({ version: "0.0.0-mock", role: "admin", limits: { memory: 2e9, upload: 5e10, disk_free: 1.2e11 }, jobs: { running: 1, queued: 1 }, allowed_roots: ["/var/dumps"], jvms: live !== null, direct_uploads: storage !== null });
  if (room === "events") return jobs.listen(response, HEADERS);
  if (room === "direct-uploads") {
    const { status, value } = await jobs.direct(method, id, rest[0], method === "POST" ? JSON.parse((await body(request)).toString()) : null, storage);
    return json(value, status);
  }
  if (room === "uploads") return jobs.upload(method, id, request, response, HEADERS);
  if (room === "jvms") {
    if (!live) throw new Problem(404, "not-found", "This server lists no JVMs.");
    if (!id) return json(live.list());
    return json(await live.answer(method, id, rest, url.searchParams, method === "POST" ? JSON.parse((await body(request)).toString() || "{}") : null));
  }
  if (room === "jobs") {
    if (!id) return json({ items: jobs.dumps.map((dump) => dump.job).filter(Boolean), next: null });
    return json(jobs.act(id, rest[0]));
  }
  if (room === "fleet") {
    if (id === "sql") return response.writeHead(200, { ...HEADERS, "content-type": "text/plain; charset=utf-8" }), response.end("SELECT 1");
    const view = fleetView([id, ...rest], url.searchParams, jobs.dumps);
    return url.searchParams.get("format") === "csv" ? csv(response, view, id) : json(view);
  }
  if (room === "gc" && method === "POST") return json(joined(jobs, JSON.parse((await body(request)).toString())), 201);
  if (room === "gc" || room === "stacks") return json(compared(room, (url.searchParams.get("dumps") ?? "").split(",").map((one) => jobs.find(one))));
  if (room !== "dumps") throw new Problem(404, "not-found", "No such address.");
  if (!id) {
    if (method === "GET") return json(jobs.list(url.searchParams));
    const { path } = JSON.parse((await body(request)).toString() || "{}");
    if (method === "POST" && !path?.startsWith("/var/dumps/")) throw new Problem(403, "outside-of-roots", `${path} is not below an allowed folder.`);
    return json(jobs.add(path?.split("/").pop() ?? url.searchParams.get("name") ?? "unnamed", 3e7), 201);
  }
  const dump = jobs.find(id);
  if (!rest.length) {
    if (method === "PATCH") return json(jobs.change(dump, JSON.parse((await body(request)).toString())));
    if (method === "DELETE") return jobs.remove(dump), json(undefined, 204);
    return json(dump);
  }
  if (rest[0] === "report" && LOGS[dump.kind]) return json(LOGS[dump.kind]);
  if (rest[0] === "gc") return json(LOGS.gc_log);
  if (rest[0] === "stacks") return json(LOGS.thread_dump);
  if (["gc.html", "stacks.html", "profile.html"].includes(rest[0])) return json({ mock: rest[0] });
  if (["file", "report", "report.html"].includes(rest[0])) return json({ mock: rest[0] });
  if (dump.job && dump.job.state !== "done") throw new Problem(409, "not-ready", "The analysis is still running.");
  if (rest[0] === "query" && method === "POST") return json(runQuery(JSON.parse((await body(request)).toString())));
  const view = dump.kind === "profile" ? profileView(rest, url.searchParams) : heapView(dump, rest, url.searchParams);
  return url.searchParams.get("format") === "csv" ? csv(response, view, rest.join("-")) : json(view);
}

function csv(response, view, name) {
  response.writeHead(200, { ...HEADERS, "content-type": "text/csv", "content-disposition": `attachment; filename="${name}.csv"` });
  response.end(view.columns.map((column) => column.key).join(",") + "\n");
}

function file(path, response, storage) {
  const asked = normalize(path).replace(/^(\.\.[/\\])+/, "");
  const isAsset = asked.startsWith("/assets/");
  const place = join(DIST, isAsset ? asked : "index.html");
  if (isAsset && !existsSync(place)) {
    response.writeHead(404, HEADERS);
    return response.end();
  }
  const policy = HEADERS["content-security-policy"].replace("connect-src 'self'", storage ? `connect-src 'self' ${storage.url}` : "$&");
  response.writeHead(200, { ...HEADERS, "content-security-policy": policy, "content-type": TYPES[extname(place)] ?? "application/octet-stream", "cache-control": isAsset ? "public, max-age=31536000, immutable" : "no-cache" });
  response.end(readFileSync(place));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { url } = await start({ port: Number(process.env.PORT ?? 7117) });
  console.log(url);
}
