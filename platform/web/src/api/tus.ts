// Resumable uploads by tus 1.0.0 (https://tus.io/protocols/resumable-upload): POST creates, HEAD tells
// how far the server is, PATCH appends. An upload survives lost connections, restarts of the server and,
// if the same file is chosen again, a reload of the page.
import { API, Failure } from "./client";

// The server syncs its disk after each piece: pieces grow until one takes some seconds.
const LEAST_PIECE = 16e6;
const MOST_PIECE = 128e6;
const PIECE_SECONDS = 4;
const MAX_WAIT = 30_000;
/** Refusals that pass: a slow body, a conflict of offsets, a lock, too many requests. Other 4xx are final. */
const PASSING = [408, 409, 423, 429];
const VERSION = { "tus-resumable": "1.0.0" };

export interface Upload {
  file: File;
  sent: number;
  state: "sending" | "waiting" | "paused" | "done" | "failed";
  /** Bytes a second over the last seconds. */
  rate: number;
  dump: string | null;
  failure: Failure | null;
}

const fingerprint = (file: File) => `hprof-rs upload ${file.name} ${file.size} ${file.lastModified}`;

function recall(file: File): string | null {
  try {
    const found = localStorage.getItem(fingerprint(file));
    // Only addresses on this server: storage is not trusted more than the network.
    return found && new URL(found, location.href).origin === location.origin ? found : null;
  } catch {
    return null;
  }
}

function remember(file: File, address: string | null): void {
  try {
    if (address) localStorage.setItem(fingerprint(file), address);
    else localStorage.removeItem(fingerprint(file));
  } catch {
    // Without storage an upload survives everything but a reload.
  }
}

const base64 = (text: string) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

interface Answer {
  status: number;
  header: (name: string) => string | null;
  text: string;
}

/** One request. XMLHttpRequest, as fetch does not tell how much of a body has been sent. */
function ask(method: string, url: string, headers: Record<string, string>, body: Blob | null, sent: (bytes: number) => void, signal: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest();
    xhr.open(method, url);
    for (const [name, value] of Object.entries({ ...VERSION, ...headers })) xhr.setRequestHeader(name, value);
    const abort = () => xhr.abort();
    signal.addEventListener("abort", abort);
    xhr.upload.onprogress = (event) => sent(event.loaded);
    xhr.onloadend = () => {
      signal.removeEventListener("abort", abort);
      if (xhr.status === 0) reject(new Error("connection"));
      else resolve({ status: xhr.status, header: (name) => xhr.getResponseHeader(name), text: xhr.responseText });
    };
    xhr.send(body);
  });
}

function refusal(answer: Answer): Failure {
  try {
    return new Failure({ title: "HTTP " + answer.status, ...JSON.parse(answer.text), status: answer.status });
  } catch {
    return new Failure({ title: "HTTP " + answer.status, status: answer.status, detail: answer.text.slice(0, 300) });
  }
}

export class Sender {
  private abort = new AbortController();
  private samples: [number, number][] = [];
  private state: Upload;

  constructor(file: File, private readonly tell: (upload: Upload) => void) {
    this.state = { file, sent: 0, state: "sending", rate: 0, dump: null, failure: null };
  }

  get upload(): Upload {
    return this.state;
  }

  private set(part: Partial<Upload>): void {
    this.state = { ...this.state, ...part };
    this.tell(this.state);
  }

  private moved(sent: number): void {
    const now = performance.now();
    this.samples = [...this.samples.filter(([at]) => now - at < 5000), [now, sent]];
    const [at, from] = this.samples[0]!;
    this.set({ sent, rate: now > at ? Math.max(0, (1000 * (sent - from)) / (now - at)) : this.state.rate });
  }

  pause(): void {
    this.abort.abort();
    this.set({ state: "paused", rate: 0 });
  }

  /** Stops, and tells the server to drop what it has. */
  async drop(): Promise<void> {
    this.abort.abort();
    const address = recall(this.state.file);
    remember(this.state.file, null);
    if (address) await fetch(address, { method: "DELETE", headers: VERSION }).catch(() => undefined);
  }

  async run(): Promise<void> {
    this.abort = new AbortController();
    this.samples = [];
    this.set({ state: "sending", failure: null });
    let wait = 1000;
    for (;;) {
      const before = this.state.sent;
      try {
        await this.send();
        return;
      } catch (error) {
        if (this.abort.signal.aborted) return;
        const status = error instanceof Failure ? error.problem.status : 0;
        if (error instanceof Failure && status < 500 && !PASSING.includes(status)) {
          this.set({ state: "failed", failure: error, rate: 0 });
          return;
        }
        if (this.state.sent > before) wait = 1000;
        this.set({ state: "waiting", rate: 0 });
        await new Promise((resolve) => setTimeout(resolve, wait * (0.75 + Math.random() / 2)));
        if (this.abort.signal.aborted) return;
        wait = Math.min(MAX_WAIT, wait * 2);
        this.set({ state: "sending" });
      }
    }
  }

  private async send(): Promise<void> {
    const { file } = this.state;
    const { signal } = this.abort;
    let { address, offset } = await this.begin();
    let piece = LEAST_PIECE;
    for (;;) {
      const from = offset;
      const began = performance.now();
      const part = file.slice(from, Math.min(file.size, from + piece));
      const headers = { "upload-offset": String(from), "content-type": "application/offset+octet-stream" };
      const answer = await ask("PATCH", address, headers, part, (bytes) => this.moved(from + bytes), signal);
      if (answer.status === 404 || answer.status === 410) {
        remember(file, null);
        throw new Error("the upload is gone, begin anew");
      }
      if (answer.status < 200 || answer.status > 299) throw refusal(answer);
      offset = Number(answer.header("upload-offset") ?? from + part.size);
      this.moved(offset);
      if (performance.now() - began < 1000 * PIECE_SECONDS) piece = Math.min(MOST_PIECE, 2 * piece);
      if (offset >= file.size) {
        remember(file, null);
        this.set({ state: "done", sent: file.size, rate: 0, dump: answer.header("hprof-dump") });
        return;
      }
    }
  }

  /** Where to continue: an upload that the server still has, or a new one. */
  private async begin(): Promise<{ address: string; offset: number }> {
    const { file } = this.state;
    const { signal } = this.abort;
    const known = recall(file);
    if (known) {
      const answer = await ask("HEAD", known, {}, null, () => undefined, signal);
      if (answer.status === 200 || answer.status === 204) {
        const offset = Number(answer.header("upload-offset") ?? 0);
        this.moved(offset);
        // All bytes are there, but the answer with the dump's id got lost: an empty PATCH brings it again.
        return { address: known, offset };
      }
      if (answer.status >= 500 || PASSING.includes(answer.status)) throw refusal(answer);
      remember(file, null);
    }
    const headers = { "upload-length": String(file.size), "upload-metadata": "filename " + base64(file.name) };
    const answer = await ask("POST", API + "/uploads", headers, null, () => undefined, signal);
    if (answer.status !== 201) throw refusal(answer);
    const place = answer.header("location");
    const address = place ? new URL(place, location.origin + API + "/uploads/").href : "";
    if (!address || new URL(address).origin !== location.origin) throw new Failure({ title: "HTTP 201", status: 400, detail: "no Location" });
    remember(file, address);
    this.moved(0);
    return { address, offset: 0 };
  }
}
