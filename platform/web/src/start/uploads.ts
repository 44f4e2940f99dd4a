// The uploads of this page. They go on while other views are looked at; a few at a time.
import { signal } from "@preact/signals";
import { getJson } from "../api/client";
import { upsert } from "../api/events";
import { Sender, type Upload } from "../api/tus";
import type { Dump } from "../api/types";

const MAX_AT_ONCE = 3;

export interface Entry {
  key: number;
  sender: Sender;
  upload: Upload;
}

export const uploads = signal<Entry[]>([]);
let keys = 0;
let active = 0;

export function add(files: Iterable<File>): void {
  for (const file of files) {
    const key = ++keys;
    const sender = new Sender(file, (upload) => {
      uploads.value = uploads.value.map((entry) => (entry.key === key ? { ...entry, upload } : entry));
    });
    uploads.value = [...uploads.value, { key, sender, upload: { ...sender.upload, state: "paused" } }];
    waiting.push(key);
  }
  pump();
}

const waiting: number[] = [];

function pump(): void {
  while (active < MAX_AT_ONCE && waiting.length) {
    const key = waiting.shift()!;
    const entry = uploads.value.find((item) => item.key === key);
    if (entry) void run(entry);
  }
}

async function run(entry: Entry): Promise<void> {
  active++;
  try {
    await entry.sender.run();
  } finally {
    active--;
    pump();
  }
  const { state, dump } = entry.sender.upload;
  if (state !== "done") return;
  uploads.value = uploads.value.filter((item) => item.key !== entry.key);
  if (dump) await getJson<Dump>("dumps/" + encodeURIComponent(dump)).then(upsert, () => undefined);
}

export function resume(entry: Entry): void {
  if (waiting.includes(entry.key)) return;
  waiting.push(entry.key);
  pump();
}

export function remove(entry: Entry): void {
  uploads.value = uploads.value.filter((item) => item.key !== entry.key);
  const at = waiting.indexOf(entry.key);
  if (at >= 0) waiting.splice(at, 1);
  void entry.sender.drop();
}

addEventListener("beforeunload", (event) => {
  // The server keeps what it has, but the person must choose the file again.
  if (uploads.value.some((entry) => entry.upload.state === "sending" || entry.upload.state === "waiting")) event.preventDefault();
});
