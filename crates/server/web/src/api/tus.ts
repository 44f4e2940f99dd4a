// Resumable uploads by tus 1.0.0 (https://tus.io/protocols/resumable-upload): POST creates, HEAD tells
// how far the server is, PATCH appends. An upload survives lost connections, restarts of the server and,
// if the same file is chosen again, a reload of the page.
import { ask as plainAsk, PASSING, recall as recallAny, refusal, remember, type Answer } from "./ask";
import { API, Failure } from "./client";

// The server syncs its disk after each piece: pieces grow until one takes some seconds.
const LEAST_PIECE = 16e6;
const MOST_PIECE = 128e6;
const PIECE_SECONDS = 4;
const VERSION = { "tus-resumable": "1.0.0" };

/** The address of an upload from before. */
function recall(file: File): string | null {
  try {
    const found = recallAny(file);
    // Only addresses on this server: storage is not trusted more than the network.
    return found && new URL(found, location.href).origin === location.origin && new URL(found, location.href).pathname.startsWith(API + "/uploads/") ? found : null;
  } catch {
    return null;
  }
}

const base64 = (text: string) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

function ask(method: string, url: string, headers: Record<string, string>, body: Blob | null, sent: (bytes: number) => void, signal: AbortSignal): Promise<Answer> {
  return plainAsk(method, url, { ...VERSION, ...headers }, body, sent, signal);
}

/** True if an upload through the server has begun. */
export const hasTus = (file: File) => recall(file) !== null;

/** Tells the server to drop what it has of a file. */
export async function dropTus(file: File): Promise<void> {
  const address = recall(file);
  if (!address) return;
  remember(file, null);
  await fetch(address, { method: "DELETE", headers: VERSION }).catch(() => undefined);
}

/** Sends a file through the server; gives the dump that it has become. Fails with what passes; called again, it continues. */
export async function sendTus(file: File, moved: (sent: number) => void, signal: AbortSignal): Promise<string | null> {
  let { address, offset } = await begin(file, moved, signal);
  let piece = LEAST_PIECE;
  for (;;) {
    const from = offset;
    const began = performance.now();
    const part = file.slice(from, Math.min(file.size, from + piece));
    const headers = { "upload-offset": String(from), "content-type": "application/offset+octet-stream" };
    const answer = await ask("PATCH", address, headers, part, (bytes) => moved(from + bytes), signal);
    if (answer.status === 404 || answer.status === 410) {
      remember(file, null);
      throw new Error("the upload is gone, begin anew");
    }
    if (answer.status < 200 || answer.status > 299) throw refusal(answer);
    offset = Number(answer.header("upload-offset") ?? from + part.size);
    moved(offset);
    if (performance.now() - began < 1000 * PIECE_SECONDS) piece = Math.min(MOST_PIECE, 2 * piece);
    if (offset >= file.size) {
      remember(file, null);
      return answer.header("hprof-dump");
    }
  }
}

/** Where to continue: an upload that the server still has, or a new one. */
async function begin(file: File, moved: (sent: number) => void, signal: AbortSignal): Promise<{ address: string; offset: number }> {
  const known = recall(file);
  if (known) {
    const answer = await ask("HEAD", known, {}, null, () => undefined, signal);
    if (answer.status === 200 || answer.status === 204) {
      const offset = Number(answer.header("upload-offset") ?? 0);
      moved(offset);
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
  moved(0);
  return { address, offset: 0 };
}
