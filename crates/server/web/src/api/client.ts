// Requests to the server. Answers about finished analyses never change, so recent ones are kept.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Problem } from "./types";

export const API = "/api/v1";

/** True after the server has refused a request for want of a session. */
export const signedOut = signal(false);

export class Failure extends Error {
  constructor(readonly problem: Problem) {
    super(problem.title);
  }
}

export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  return new Failure({ title: "network", status: 0, detail: error instanceof Error ? error.message : String(error) });
}

async function problemOf(answer: Response): Promise<Problem> {
  const fallback: Problem = { title: answer.statusText || "HTTP " + answer.status, status: answer.status };
  if (!/json/.test(answer.headers.get("content-type") ?? "")) return fallback;
  try {
    return { ...fallback, ...((await answer.json()) as Partial<Problem>) };
  } catch {
    return fallback;
  }
}

export async function request(path: string, options: RequestInit = {}): Promise<Response> {
  const answer = await fetch(path.startsWith("/") ? path : API + "/" + path, { credentials: "same-origin", ...options });
  if (answer.status === 401) signedOut.value = true;
  if (!answer.ok) throw new Failure(await problemOf(answer));
  return answer;
}

// What takes a walk over a large dump is worked out in the background; the server asks for patience.
const BUSY_WAIT = 1500;
const MAX_BUSY = 200;

export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      const answer = await request(`${API}/${path}`, { headers: { accept: "application/json" }, ...(signal ? { signal } : {}) });
      return (await answer.json()) as T;
    } catch (error) {
      const isBusy = error instanceof Failure && error.problem.status === 503 && error.problem.type === "busy";
      if (!isBusy || tries >= MAX_BUSY) throw error;
      await new Promise((resolve) => setTimeout(resolve, BUSY_WAIT));
      signal?.throwIfAborted();
    }
  }
}

export async function send<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T | null> {
  const answer = await request(`${API}/${path}`, {
    method,
    headers: body === undefined ? {} : { "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  });
  const text = await answer.text();
  return text ? (JSON.parse(text) as T) : null;
}

const MAX_KEPT = 80;
const kept = new Map<string, unknown>();

/** Forgets answers about a dump, for instance after its analysis was repeated. */
export function forget(dump: string): void {
  for (const path of kept.keys()) if (path.startsWith(`dumps/${dump}`)) kept.delete(path);
}

export async function getKept<T>(path: string, signal?: AbortSignal): Promise<T> {
  // A running JVM answers otherwise each time, and dumps come and go.
  if (path.startsWith("jvms") || path.startsWith("fleet")) return getJson<T>(path, signal);
  if (kept.has(path)) {
    const found = kept.get(path) as T;
    kept.delete(path);
    kept.set(path, found);
    return found;
  }
  const found = await getJson<T>(path, signal);
  // Figures that are still worked out are not the answer yet.
  if ((found as { pending?: unknown }).pending === true) return found;
  kept.set(path, found);
  if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value!);
  return found;
}

export interface Load<T> {
  value: T | null;
  failure: Failure | null;
  busy: boolean;
  again: () => void;
}

interface Answer<T> {
  path: string | null;
  value: T | null;
  failure: Failure | null;
}

const placeOf = (path: string | null) => path?.split("?")[0];

/** The answer to a GET while a component is shown; null asks nothing. With a `tick` it asks again whenever
 * that changes, and shows the last answer until the next is there. */
export function useGet<T>(path: string | null, tick: string | null = null): Load<T> {
  const [tries, setTries] = useState(0);
  const [state, setState] = useState<Answer<T>>({ path: null, value: null, failure: null });
  const wanted = useRef(tick);
  wanted.current = tick;
  const ask = useRef<() => void>(() => undefined);
  useEffect(() => {
    if (path === null) return;
    const abort = new AbortController();
    let under = false;
    const run = async () => {
      if (under) return;
      under = true;
      let asked;
      do {
        asked = wanted.current;
        try {
          const value = await getKept<T>(path, abort.signal);
          if (abort.signal.aborted) return;
          setState({ path, value, failure: null });
        } catch (error) {
          if (abort.signal.aborted) return;
          const isGrowing = asked !== null;
          setState((old) => ({ path, value: isGrowing && placeOf(old.path) === placeOf(path) ? old.value : null, failure: failureOf(error) }));
        }
        // What changed while the answer was under way is in the next one.
      } while (wanted.current !== asked);
      under = false;
    };
    ask.current = () => void run();
    void run();
    return () => abort.abort();
  }, [path, tries]);
  useEffect(() => ask.current(), [tick]);
  const isCurrent = state.path === path;
  const isShown = isCurrent || (tick !== null && path !== null && placeOf(state.path) === placeOf(path));
  const again = () => {
    setState({ path: null, value: null, failure: null });
    setTries(tries + 1);
  };
  return { value: isShown ? state.value : null, failure: isCurrent ? state.failure : null, busy: path !== null && !isCurrent, again };
}
