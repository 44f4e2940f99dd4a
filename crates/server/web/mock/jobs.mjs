// Dumps, jobs that advance, uploads by tus, and the stream of events.
import { Problem } from "./tables.mjs";

const PHASES = [["reading", "bytes", 4.1e8], ["graph", "objects", 6.2e6], ["dominators", "objects", 6.2e6], ["report", "objects", 100]];
const EVIL = "</title><script>window.hacked=1</script><img src=x onerror=window.hacked=1> \u202egnp.tnuocca\u202c.hprof";
const ids = (n) => (0x9e3779b97f4a7c15n * BigInt(n + 1) & 0xffffffffffffffffn).toString(16).padStart(16, "0");

export class Jobs {
  constructor(speed, listsLogs = false) {
    this.speed = speed;
    this.count = 0;
    this.clients = new Set();
    this.uploads = new Map();
    this.dumps = [];
    const day = 86400e3;
    const done = (name, bytes, days, extra = {}) => {
      const dump = this.make(name, bytes);
      Object.assign(dump, { uploaded_at: Date.now() - days * day }, extra);
      if (dump.job && !extra.job) Object.assign(dump.job, { state: "done", phase: "done", ended_at: dump.uploaded_at + 9000 });
      return dump;
    };
    this.dumps = [
      done("shop-prod-eu1.hprof", 847_249_408, 0.02, { headline: "61.4 % of the heap is kept alive by one java.util.HashMap in com.acme.session.SessionCache.", labels: { service: "shop", host: "eu1-7" }, pinned: true }),
      done("shop-prod-eu1-yesterday.hprof.gz", 203_424_001, 1.1, { headline: "44.0 % of the heap is kept alive by one java.util.HashMap in com.acme.session.SessionCache.", labels: { service: "shop", host: "eu1-7" } }),
      done("checkout-cpu.txt", 1_284_113, 2, { kind: "profile", headline: "38.2 % of CPU time is in java.util.regex.Pattern$Loop.match." }),
      done("checkout-cpu-before.hprof", 1_184_113, 3, { kind: "profile", headline: "22.9 % of CPU time is in com.acme.json.Writer.escape." }),
      done(EVIL, 12_311_221, 4, { headline: "12.0 % is kept by <b>bold</b> \u202eevil\u202c.", note: "From the <i>outside</i>.", labels: { "<script>": "alert(1)" } }),
      done("android-leak.hprof", 26_234_120, 12, { headline: "A destroyed MainActivity is kept alive by a static field.", note: "Rotation, API 34." }),
      done("half.hprof", 119_234_120, 30, { headline: null, job: { state: "failed", phase: "reading", error: { title: "The file ends in the middle of a record", detail: "Offset 119,234,120 of 204,110,002; load what is there with --lenient, or transfer the file again.", can_retry: true } } }),
    ];
    // They are found by their ids, and not listed, as the tests of the list know what is in it.
    const kinds = { "threads.txt": "thread_dump", "gc.log": "gc_log", "flight.jfr": "profile", "gc.log.0": "gc_log", "later.txt": "thread_dump" };
    this.logs = Object.entries(kinds).map(([name, kind], at) => {
      const dump = Object.assign(this.make(name, 90_000), { kind, headline: "2 threads wait for each other without an end.", uploaded_at: Date.now() - 60_000 * (10 - at) });
      if (kind === "profile") dump.summary = { profiles: [{}], collections: 12, dumps: 2 };
      Object.assign(dump.job, { state: "done", phase: "done", ended_at: Date.now() });
      return dump;
    });
    Object.assign(this.dumps.at(-1).job, { id: 999, dump: this.dumps.at(-1).id, done: 119e6, total: 204e6, unit: "bytes", rate: null, seconds_left: null, started_at: 0, ended_at: 0, attempt: 1 });
    if (listsLogs) this.dumps.unshift(...this.logs);
    this.timer = setInterval(() => this.tick(), 200);
  }

  stop() {
    clearInterval(this.timer);
    for (const client of this.clients) client.end();
  }

  make(name, bytes) {
    const n = this.count++;
    const id = ids(n);
    const job = { id: n, dump: id, state: "queued", phase: "queued", done: 0, total: null, unit: "bytes", rate: null, seconds_left: null, started_at: null, ended_at: null, error: null, attempt: 1 };
    return { id, name, kind: /gc\.log/.test(name) ? "gc_log" : /\.txt$|cpu/.test(name) ? "profile" : "heap", bytes, uploaded_at: Date.now(), note: "", labels: {}, pinned: false, sha256: id.repeat(4), job, headline: null, summary: null };
  }

  add(name, bytes) {
    const dump = this.make(name, bytes);
    this.dumps.unshift(dump);
    this.tell("dump", dump);
    return dump;
  }

  find(id) {
    const dump = [...this.dumps, ...this.logs].find((item) => item.id === id);
    if (!dump) throw new Problem(404, "not-found", "There is no dump " + id + ".");
    return dump;
  }

  list(query) {
    const text = (query.get("q") ?? "").toLowerCase();
    const items = this.dumps.filter((dump) => JSON.stringify([dump.name, dump.labels, dump.note]).toLowerCase().includes(text));
    const from = Number(query.get("cursor") ?? 0);
    const limit = Number(query.get("limit") ?? 50);
    return { items: items.slice(from, from + limit), next: from + limit < items.length ? String(from + limit) : null };
  }

  change(dump, part) {
    for (const key of ["name", "note", "labels", "pinned", "fail_above"]) if (key in part) dump[key] = part[key];
    this.tell("dump", dump);
    return dump;
  }

  remove(dump) {
    this.dumps = this.dumps.filter((item) => item !== dump);
    this.tell("dump_deleted", { id: dump.id });
  }

  act(id, action) {
    const job = this.dumps.map((dump) => dump.job).find((item) => String(item?.id) === id);
    if (!job) throw new Problem(404, "not-found", "There is no job " + id + ".");
    if (action === "cancel") Object.assign(job, { state: "cancelled", ended_at: Date.now() });
    else if (action === "retry") Object.assign(job, { state: "queued", phase: "queued", done: 0, error: null, attempt: job.attempt + 1 });
    this.tell("job", job);
    return job;
  }

  tick() {
    const waiting = this.dumps.filter((dump) => dump.job?.state === "queued" && !dump.job.room).at(-1);
    const running = this.dumps.find((dump) => dump.job?.state === "running");
    if (!running && waiting) {
      Object.assign(waiting.job, { state: "running", phase: "reading", unit: "bytes", total: PHASES[0][2], done: 0, started_at: Date.now() });
      this.tell("job", waiting.job);
    }
    if (!running) return;
    const { job } = running;
    const at = PHASES.findIndex(([phase]) => phase === job.phase);
    const [, , total] = PHASES[at];
    const step = (total / 20) * this.speed;
    job.done = Math.min(total, job.done + step);
    job.rate = step * 5;
    job.seconds_left = Math.ceil((total - job.done) / job.rate + (PHASES.length - 1 - at) * 4);
    if (job.done >= total) {
      const next = PHASES[at + 1];
      if (next) Object.assign(job, { phase: next[0], unit: next[1], total: next[2], done: 0 });
      else {
        Object.assign(job, { state: "done", phase: "done", seconds_left: null, rate: null, ended_at: Date.now() });
        running.headline = running.kind === "gc_log" ? "12 pauses, and nothing is noteworthy." : "31.0 % of the heap is kept alive by one byte[][] in com.acme.io.Buffers.";
      }
    }
    this.tell("job", job);
  }

  listen(response, headers) {
    response.writeHead(200, { ...headers, "content-type": "text/event-stream", "cache-control": "no-store" });
    response.write(": hello\n\n");
    this.clients.add(response);
    response.on("close", () => this.clients.delete(response));
  }

  tell(event, data) {
    for (const client of this.clients) client.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  /** Uploads straight to `storage`; without one the bytes come here. */
  async direct(method, id, action, body, storage) {
    if (method === "POST" && !id) {
      if (!storage) throw Object.assign(new Problem(409, "Bytes come through the server", "The store of this server takes bytes from it only."), { type: "no-direct-upload" });
      const begun = storage.begin(body.name, body.length);
      return { status: 201, value: { id: begun.id, piece_bytes: begun.pieceBytes, pieces: begun.pieces, origin: storage.url } };
    }
    const upload = storage?.uploads.get(id);
    if (!upload) throw new Problem(404, "not-found", "There is no such upload; begin again.");
    if (method === "DELETE") return storage.uploads.delete(id), { status: 204 };
    if (action === "addresses") return { status: 200, value: { addresses: body.pieces.map((number) => `${storage.url}/dumps/blobs/${id}?partNumber=${number}`), seconds: 900 } };
    upload.completion = body;
    const dump = this.add(upload.name, upload.length);
    return { status: 201, value: dump };
  }

  async upload(method, id, request, response, headers) {
    const reply = (status, more = {}) => {
      response.writeHead(status, { ...headers, "tus-resumable": "1.0.0", "cache-control": "no-store", ...more });
      response.end();
    };
    if (method === "POST") {
      const key = ids(1000 + this.uploads.size);
      const name = Buffer.from(/filename (\S+)/.exec(request.headers["upload-metadata"] ?? "")?.[1] ?? "", "base64").toString() || "unnamed";
      this.uploads.set(key, { name, length: Number(request.headers["upload-length"]), offset: 0 });
      return reply(201, { location: "/api/v1/uploads/" + key });
    }
    const upload = this.uploads.get(id);
    if (!upload) throw new Problem(404, "not-found", "There is no upload " + id + ".");
    if (method === "HEAD") return reply(200, { "upload-offset": upload.offset, "upload-length": upload.length });
    if (method === "DELETE") return this.uploads.delete(id), reply(204);
    if (Number(request.headers["upload-offset"]) !== upload.offset) throw new Problem(409, "offset", "The upload continues at " + upload.offset + ".");
    // A test may ask for a lost connection after a number of bytes.
    for await (const part of request) {
      upload.offset += part.length;
      if (this.breakAt && upload.offset >= this.breakAt) {
        this.breakAt = 0;
        this.broke = true;
        return request.socket.destroy();
      }
    }
    if (upload.offset < upload.length) return reply(204, { "upload-offset": upload.offset });
    const dump = this.add(upload.name, upload.length);
    this.uploads.delete(id);
    reply(204, { "upload-offset": upload.offset, "hprof-dump": dump.id });
  }
}
