// Uploads straight to the object storage of a server: it signs an address for each piece, and the bytes go there,
// several pieces at once. The server compares length and kind, and the worker that fetches the dump its SHA-256.
import { ask, PASSING, recall, refusal, remember, type Answer } from "./ask";
import { API, Failure, getJson } from "./client";
import type { Said } from "./hash-worker";
import type { ServerFacts } from "./types";

const SENDERS = 3;
/** How often the first piece is tried before the server is asked to take the file instead. */
const FIRST_TRIES = 2;

/** An upload under way; what the browser remembers of it. */
interface Begun {
  id: string;
  piece_bytes: number;
  pieces: number;
  origin: string;
  /** The `ETag` of each piece that the storage has. */
  etags: (string | null)[];
}

/** The storage cannot be reached from here, or does not tell what it must. */
class Unreachable extends Error {}

/** The storage answers, and does not take the piece. It speaks no JSON. */
class Refused extends Failure {
  constructor(status: number) {
    super({ title: "storage", status: 503, detail: `HTTP ${status}` });
  }
}

const path = (id: string) => `${API}/direct-uploads/${encodeURIComponent(id)}`;
const JSON_BODY = { "content-type": "application/json" };

function post(address: string, body: unknown, signal: AbortSignal): Promise<Answer> {
  return ask("POST", address, JSON_BODY, JSON.stringify(body), () => undefined, signal);
}

function known(file: File): Begun | null {
  try {
    const begun = JSON.parse(recall(file) ?? "") as Begun;
    const isWhole = /^[0-9a-f]{32}$/.test(begun.id) && begun.etags.length === begun.pieces && begun.pieces === Math.max(1, Math.ceil(file.size / begun.piece_bytes));
    return isWhole ? begun : null;
  } catch {
    return null;
  }
}

/** Gives an upload of this kind up, if there is one. */
export async function dropDirect(file: File): Promise<void> {
  const begun = known(file);
  if (!begun) return;
  remember(file, null);
  await fetch(path(begun.id), { method: "DELETE" }).catch(() => undefined);
}

/** The SHA-256 of a file, by a worker; `hashed` is called as it goes on. */
function hashOf(file: File, hashed: (bytes: number) => void, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./hash-worker.ts", import.meta.url), { type: "module" });
    const end = (then: () => void) => {
      worker.terminate();
      then();
    };
    worker.onmessage = ({ data }: MessageEvent<Said>) => {
      if ("hashed" in data) hashed(data.hashed);
      else if ("sha256" in data) end(() => resolve(data.sha256));
      else end(() => reject(new Failure({ title: "read", status: 400, detail: data.error })));
    };
    worker.onerror = (event) => end(() => reject(new Unreachable(event.message)));
    signal.addEventListener("abort", () => end(() => reject(new Error("aborted"))));
    worker.postMessage(file);
  });
}

/** A problem that no other attempt mends. */
function final(answer: Answer): Failure {
  const { problem } = refusal(answer);
  return new Failure({ ...problem, status: PASSING.includes(answer.status) ? 400 : answer.status });
}

/** Sends a file straight to the storage; gives the dump that it has become, and none if the bytes have to go through
 * the server. Fails with what passes; called again, it continues. */
export async function sendDirect(file: File, moved: (sent: number) => void, signal: AbortSignal): Promise<string | null> {
  const begun = (await continued(file, signal)) ?? (await begin(file, signal));
  if (!begun) return null;
  // Whatever fails ends all.
  const all = new AbortController();
  const abort = () => all.abort();
  signal.addEventListener("abort", abort);
  try {
    return await new Sending(file, begun, moved, all.signal).run();
  } catch (error) {
    if (!(error instanceof Unreachable) || signal.aborted) throw error;
    await dropDirect(file);
    return null;
  } finally {
    all.abort();
    signal.removeEventListener("abort", abort);
  }
}

let offered: Promise<boolean> | null = null;

/** Whether the server has such a storage. Asked once: only a restart changes it. */
async function isOffered(): Promise<boolean> {
  offered ??= getJson<ServerFacts>("server").then((facts) => facts.direct_uploads === true);
  try {
    return await offered;
  } catch (error) {
    offered = null;
    throw error;
  }
}

async function begin(file: File, signal: AbortSignal): Promise<Begun | null> {
  if (!(await isOffered())) return null;
  const answer = await post(`${API}/direct-uploads`, { name: file.name, length: file.size }, signal);
  // A server that has been started again may have none.
  if ([404, 405].includes(answer.status) || (answer.status === 409 && refusal(answer).problem.type === "no-direct-upload")) return null;
  if (answer.status !== 201) throw final(answer);
  const begun = JSON.parse(answer.text) as Begun;
  begun.etags = new Array<string | null>(begun.pieces).fill(null);
  remember(file, JSON.stringify(begun));
  const isSafe = begun.origin.startsWith("https://") || location.protocol === "http:";
  if (!isSafe) {
    await dropDirect(file);
    return null;
  }
  return begun;
}

/** An upload from before that the server still has. */
async function continued(file: File, signal: AbortSignal): Promise<Begun | null> {
  const begun = known(file);
  if (!begun) return null;
  const answer = await post(path(begun.id) + "/addresses", { pieces: [1] }, signal);
  if (answer.status === 200) return begun;
  if (answer.status >= 500 || [408, 423, 429].includes(answer.status)) throw refusal(answer);
  remember(file, null);
  return null;
}

class Sending {
  private hashed = 0;
  private readonly under = new Map<number, number>();

  constructor(private readonly file: File, private readonly begun: Begun, private readonly moved: (sent: number) => void, private readonly signal: AbortSignal) {}

  async run(): Promise<string> {
    const { begun, file, signal } = this;
    const hash = hashOf(file, (bytes) => ((this.hashed = bytes), this.tell()), signal);
    hash.catch(() => undefined);
    const missing = begun.etags.flatMap((etag, at) => (etag ? [] : [at + 1]));
    // The first one shows whether the storage can be reached.
    if (missing.length === begun.pieces) await this.first(missing.shift()!);
    const sender = async () => {
      for (let number = missing.shift(); number !== undefined; number = missing.shift()) await this.piece(number);
    };
    await Promise.all(Array.from({ length: SENDERS }, sender));
    const answer = await post(path(begun.id) + "/complete", { etags: begun.etags, sha256: await hash }, signal);
    if (answer.status >= 500 || [408, 423, 429].includes(answer.status)) throw refusal(answer);
    remember(file, null);
    if (answer.status !== 201) throw final(answer);
    return (JSON.parse(answer.text) as { id: string }).id;
  }

  private length(number: number): number {
    return Math.min(this.begun.piece_bytes, this.file.size - (number - 1) * this.begun.piece_bytes);
  }

  /** What is sent and hashed: the slower of both is what has to be waited for. */
  private tell(): void {
    let sent = 0;
    this.begun.etags.forEach((etag, at) => (sent += etag ? this.length(at + 1) : 0));
    for (const bytes of this.under.values()) sent += bytes;
    this.moved(Math.min(sent, this.hashed));
  }

  private async first(number: number): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.piece(number);
      } catch (error) {
        // What the server refuses has its reason. Without an answer it may be the network, or rules of bucket or browser.
        if ((error instanceof Failure && !(error instanceof Refused)) || error instanceof Unreachable || this.signal.aborted) throw error;
        if (tries >= FIRST_TRIES) throw new Unreachable("no answer");
        await new Promise((resolve) => setTimeout(resolve, 1000));
      }
    }
  }

  private async piece(number: number): Promise<void> {
    const { begun, file, signal, under } = this;
    const asked = await post(path(begun.id) + "/addresses", { pieces: [number] }, signal);
    if (asked.status === 404) remember(file, null);
    if (asked.status === 404 || asked.status >= 500 || PASSING.includes(asked.status)) throw new Failure({ ...refusal(asked).problem, status: 503 });
    if (asked.status !== 200) throw final(asked);
    const address = (JSON.parse(asked.text) as { addresses: string[] }).addresses[0] ?? "";
    if (!address.startsWith(begun.origin + "/")) throw new Unreachable("another storage");
    const from = (number - 1) * begun.piece_bytes;
    const sent = (bytes: number) => (under.set(number, Math.min(bytes, this.length(number))), this.tell());
    const answer = await ask("PUT", address, {}, file.slice(from, from + this.length(number)), sent, signal).finally(() => under.delete(number));
    if (answer.status === 404) {
      // Another page has removed it: begin anew.
      remember(file, null);
    }
    // An address may have ended on the way, which is status 403.
    if (answer.status !== 200) throw new Refused(answer.status);
    const etag = answer.header("etag");
    if (!etag) throw new Unreachable("the bucket's CORS rules do not expose ETag");
    begun.etags[number - 1] = etag;
    remember(file, JSON.stringify(begun));
    this.tell();
  }
}
