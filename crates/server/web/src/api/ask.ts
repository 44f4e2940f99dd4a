// One request of an upload, and what a browser remembers of uploads between visits.
import { Failure } from "./client";

/** Refusals that pass: a slow body, a conflict of offsets, a lock, too many requests. Other 4xx are final. */
export const PASSING = [408, 409, 423, 429];

export interface Answer {
  status: number;
  header: (name: string) => string | null;
  text: string;
}

/** XMLHttpRequest, as fetch does not tell how much of a body has been sent. Fails without an answer. */
export function ask(method: string, url: string, headers: Record<string, string>, body: Blob | string | null, sent: (bytes: number) => void, signal: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(new Error("aborted"));
    const xhr = new XMLHttpRequest();
    xhr.open(method, url);
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value);
    const abort = () => xhr.abort();
    signal.addEventListener("abort", abort);
    xhr.upload.onprogress = (event) => sent(event.loaded);
    xhr.onloadend = () => {
      signal.removeEventListener("abort", abort);
      if (xhr.status === 0) reject(new Error("connection"));
      else resolve({ status: xhr.status, header: (name) => headerOf(xhr, name), text: xhr.responseText });
    };
    xhr.send(body);
  });
}

/** A header of an answer. The console complains where one is asked for that another origin hides; a list has what is told. */
function headerOf(xhr: XMLHttpRequest, name: string): string | null {
  const lines = xhr.getAllResponseHeaders().split("\r\n");
  const line = lines.find((line) => line.toLowerCase().startsWith(name + ":"));
  return line === undefined ? null : line.slice(name.length + 1).trim();
}

export function refusal(answer: Answer): Failure {
  try {
    return new Failure({ title: "HTTP " + answer.status, ...JSON.parse(answer.text), status: answer.status });
  } catch {
    return new Failure({ title: "HTTP " + answer.status, status: answer.status, detail: answer.text.slice(0, 300) });
  }
}

const fingerprint = (file: File) => `hprof-rs upload ${file.name} ${file.size} ${file.lastModified}`;

/** What is known of the upload of a file from before. */
export function recall(file: File): string | null {
  try {
    return localStorage.getItem(fingerprint(file));
  } catch {
    return null;
  }
}

export function remember(file: File, what: string | null): void {
  try {
    if (what) localStorage.setItem(fingerprint(file), what);
    else localStorage.removeItem(fingerprint(file));
  } catch {
    // Without storage an upload survives everything but a reload.
  }
}
