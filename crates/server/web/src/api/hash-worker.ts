// Reads a file and computes its SHA-256, beside the page, which stays quick.
import { Sha256 } from "./sha256";

const CHUNK = 4 << 20;

export type Said = { hashed: number } | { sha256: string } | { error: string };

const tell = (said: Said) => postMessage(said);

async function hash(file: File): Promise<void> {
  const hasher = new Sha256();
  for (let at = 0; at < file.size; at += CHUNK) {
    hasher.update(new Uint8Array(await file.slice(at, at + CHUNK).arrayBuffer()));
    tell({ hashed: Math.min(file.size, at + CHUNK) });
  }
  tell({ sha256: hasher.end() });
}

addEventListener("message", (event: MessageEvent<File>) => {
  hash(event.data).catch((error: unknown) => tell({ error: String(error) }));
});
