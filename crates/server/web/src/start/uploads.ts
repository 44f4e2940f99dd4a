// The uploads of this page. They go on while other views are looked at; a few at a time.
import { signal } from "@preact/signals";
import { getJson } from "../api/client";
import { dumps, upsert } from "../api/events";
import { Sender, type Upload } from "../api/sender";
import type { Dump } from "../api/types";
import { choose, chosen } from "./together";

const MAX_AT_ONCE = 3;

export interface Entry {
  key: number;
  sender: Sender;
  upload: Upload;
  /** The files that came at once. */
  batch: Batch;
}

/** Files that were dropped or chosen together; they are offered for a comparison. */
interface Batch {
  size: number;
  dumps: string[];
}

export const uploads = signal<Entry[]>([]);

/** Files of the last choice that the server had before: it keeps equal bytes once, so the list does not change. */
export const already = signal<{ name: string; dump: Dump }[]>([]);

/** Takes in what the server answers for a file; `before` has the ids of the list at that time. */
export function arrived(name: string, dump: Dump, before: string[]): void {
  upsert(dump);
  if (before.includes(dump.id)) already.value = [...already.value, { name, dump }];
}

export const listedIds = (): string[] => dumps.value.map((dump) => dump.id);

let keys = 0;
let active = 0;

export function add(files: Iterable<File>): void {
  const all = [...files];
  already.value = [];
  const batch: Batch = { size: all.length, dumps: [] };
  for (const file of all) {
    const key = ++keys;
    const sender = new Sender(file, (upload) => {
      uploads.value = uploads.value.map((entry) => (entry.key === key ? { ...entry, upload } : entry));
    });
    uploads.value = [...uploads.value, { key, sender, upload: { ...sender.upload, state: "paused" }, batch }];
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
  const before = listedIds();
  try {
    await entry.sender.run();
  } finally {
    active--;
    pump();
  }
  const { state, dump } = entry.sender.upload;
  if (state !== "done") return;
  uploads.value = uploads.value.filter((item) => item.key !== entry.key);
  if (!dump) return;
  await getJson<Dump>("dumps/" + encodeURIComponent(dump)).then((found) => arrived(entry.upload.file.name, found, before), () => undefined);
  const { batch } = entry;
  if (batch.size < 2) return;
  // The first of them begins a new choice.
  if (batch.dumps.length === 0) chosen.value = [];
  batch.dumps.push(dump);
  choose(dump, true);
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
