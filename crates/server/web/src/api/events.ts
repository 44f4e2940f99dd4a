// What the server pushes: jobs as they advance, dumps as they come, change and go.
import { signal } from "@preact/signals";
import { API, forget, getJson, signedOut } from "./client";
import type { Dump, Job, Page } from "./types";

/** The dumps that the start page lists, newest first. */
export const dumps = signal<Dump[]>([]);
export const nextDumps = signal<string | null>(null);
export const listState = signal<"loading" | "ready" | "failed">("loading");
/** False while the stream of events is broken; the browser or we try again. */
export const connected = signal(true);
/** The last change of a job's state, for the live region. */
export const lastChange = signal<{ dump: Dump; job: Job } | null>(null);

/** How far a recording is that began at a time. */
export interface Growth {
  since: number;
  revision: number;
  samples: number;
}

/** How far the recordings of running JVMs are, by id. */
export const growth = signal<Record<string, Growth>>({});
/** The bytes of heap dumps that running JVMs are writing, by id. */
export const dumping = signal<Record<string, number>>({});
/** How often a recording of a JVM has ended since the page was opened, by id: detached, or with the JVM. */
export const endings = signal<Record<string, number>>({});

interface JvmEvent {
  id: string;
  since?: number;
  revision?: number;
  samples?: number;
  action?: string;
  bytes?: number;
}

function onJvm(event: JvmEvent): void {
  const { id, since = 0, revision, samples = 0, action, bytes } = event;
  if (action === "dump") dumping.value = { ...dumping.value, [id]: bytes ?? 0 };
  else if (revision !== undefined) growth.value = { ...growth.value, [id]: { since, revision, samples } };
}

let search = "";
let asked = 0;
let answered = 0;
/** What the server pushed since each list that is under way was asked for: the answer may be older than that. */
const since = new Map<number, (() => void)[]>();

/** Makes a change that the server pushed, once more on top of every list that is still to come. */
function pushed(change: () => void): void {
  for (const changes of since.values()) changes.push(change);
  change();
}

export async function loadDumps(text = search, cursor: string | null = null): Promise<void> {
  search = text;
  const turn = ++asked;
  const changes: (() => void)[] = [];
  since.set(turn, changes);
  const query = new URLSearchParams({ limit: "50" });
  if (text) query.set("q", text);
  if (cursor) query.set("cursor", cursor);
  try {
    const page = await getJson<Page<Dump>>("dumps?" + query);
    // Answers may overtake each other.
    if (search !== text || turn < answered) return;
    answered = turn;
    dumps.value = cursor ? [...dumps.value, ...page.items.filter((item) => !dumps.value.some((dump) => dump.id === item.id))] : page.items;
    nextDumps.value = page.next;
    listState.value = "ready";
    for (const change of changes) change();
  } catch {
    if (listState.value === "loading") listState.value = "failed";
  } finally {
    since.delete(turn);
  }
}

export function upsert(dump: Dump): void {
  const at = dumps.value.findIndex((item) => item.id === dump.id);
  if (at >= 0) dumps.value = dumps.value.map((item, index) => (index === at ? dump : item));
  else if (!search) dumps.value = [dump, ...dumps.value];
}

function onJob(job: Job): void {
  const dump = dumps.value.find((item) => item.id === job.dump);
  if (!dump) return;
  const before = dump.job;
  // An event that was under way while a newer answer came must not turn the clock back.
  if (before && before.id === job.id && before.attempt > job.attempt) return;
  const now = { ...dump, job };
  upsert(now);
  if (!before || before.state !== job.state || before.phase !== job.phase) lastChange.value = { dump: now, job };
  if (before?.state !== "done" && job.state === "done") {
    forget(dump.id);
    void getJson<Dump>("dumps/" + dump.id).then(upsert, () => undefined);
  }
}

// Browsers open few connections to one server: a page in the background leaves its own to others.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) source?.close();
  else if (source?.readyState === EventSource.CLOSED) listen();
});

let source: EventSource | null = null;
let wait = 1000;

export function listen(): void {
  source?.close();
  source = new EventSource(API + "/events");
  source.addEventListener("open", () => {
    wait = 1000;
    connected.value = true;
    // What happened while the page did not listen is in the list.
    void loadDumps();
  });
  source.addEventListener("job", (event) => {
    const job = JSON.parse(event.data as string) as Job;
    pushed(() => onJob(job));
  });
  source.addEventListener("dump", (event) => {
    const dump = JSON.parse(event.data as string) as Dump;
    pushed(() => upsert(dump));
  });
  source.addEventListener("dump_deleted", (event) => {
    const { id } = JSON.parse(event.data as string) as { id: string };
    pushed(() => (dumps.value = dumps.value.filter((dump) => dump.id !== id)));
  });
  source.addEventListener("jvm", (event) => onJvm(JSON.parse(event.data as string) as JvmEvent));
  source.addEventListener("jvm_gone", (event) => {
    const { id } = JSON.parse(event.data as string) as JvmEvent;
    endings.value = { ...endings.value, [id]: (endings.value[id] ?? 0) + 1 };
  });
  source.addEventListener("error", () => {
    connected.value = false;
    // The browser reconnects by itself unless the answer was no stream at all.
    if (source?.readyState === EventSource.CLOSED && !signedOut.value && !document.hidden) {
      setTimeout(listen, wait);
      wait = Math.min(30_000, wait * 2);
    }
  });
}
