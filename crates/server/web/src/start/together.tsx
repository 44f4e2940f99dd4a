// What can be done with several dumps at once: compare them, or join the files of one rotated log.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { failureOf, send, type Failure } from "../api/client";
import { dumps as listed, upsert } from "../api/events";
import { useMay } from "../api/role";
import type { Dump } from "../api/types";
import { A, Problem } from "../parts/basics";
import { sharedMeasure } from "../profile/source";
import { go, to } from "../route";
import { texts } from "../texts";

/** The ids of the dumps that are chosen in the list. */
export const chosen = signal<string[]>([]);

export const choose = (id: string, on: boolean): void => {
  chosen.value = [...chosen.value.filter((item) => item !== id), ...(on ? [id] : [])];
};

const isDone = (dump: Dump) => !dump.job || dump.job.state === "done";
const hasCollections = (dump: Dump) => dump.kind === "gc_log" || typeof dump.summary?.["collections"] === "number";

/** Where dumps are shown together, the oldest first; none if they cannot be. */
export function addressOf(dumps: Dump[]): string | null {
  if (dumps.length < 2 || !dumps.every(isDone)) return null;
  const sorted = [...dumps].sort((a, b) => a.uploaded_at - b.uploaded_at || a.name.localeCompare(b.name));
  const ids = sorted.map((dump) => dump.id);
  const all = (kind: Dump["kind"]) => dumps.every((dump) => dump.kind === kind);
  const [first, last] = [ids[0]!, ids[ids.length - 1]!];
  if (all("heap")) return `/dumps/${last}/compare?with=${first}${ids.length > 2 ? "&also=" + ids.slice(1, -1).join(".") : ""}`;
  if (all("profile") && ids.length === 2) {
    // Samples and bytes have nothing in common; collections of two recordings may.
    const measure = sharedMeasure(sorted[1]!, sorted[0]!);
    if (measure !== null) return to(`/dumps/${last}/compare`, { with: first, dimension: measure });
  }
  if (all("thread_dump")) return `/compare/stacks?dumps=${ids.join()}`;
  return dumps.every(hasCollections) ? `/compare/gc?dumps=${ids.join()}` : null;
}

/** The controls for these dumps. */
export function Together({ dumps }: { dumps: Dump[] }) {
  const t = texts.value.together;
  const [failure, setFailure] = useState<Failure | null>(null);
  const [busy, setBusy] = useState(false);
  const mayJoin = useMay("uploader");
  const address = addressOf(dumps);
  const areLogs = dumps.length > 1 && dumps.every((dump) => dump.kind === "gc_log" && isDone(dump));
  const join = async () => {
    setBusy(true);
    try {
      const joined = await send<Dump>("POST", "gc", { dumps: dumps.map((dump) => dump.id) });
      chosen.value = [];
      if (joined) {
        upsert(joined);
        go(`/dumps/${joined.id}`);
      }
    } catch (error) {
      setFailure(failureOf(error));
    }
    setBusy(false);
  };
  return (
    <>
      <div class="tools-line together">
        {address ? (
          <A href={address} class="button">
            {t.compare}
          </A>
        ) : (
          <span class="dim">{dumps.length < 2 ? t.chooseMore : dumps.every(isDone) ? t.different : t.notDone}</span>
        )}
        {areLogs && mayJoin && (
          <button type="button" disabled={busy} title={t.joinText} onClick={() => void join()}>
            {t.join}
          </button>
        )}
      </div>
      {failure && <Problem failure={failure} />}
    </>
  );
}

/** The bar above the list while dumps are chosen in it. */
export function Chosen() {
  const t = texts.value.together;
  const found = listed.value.filter((dump) => chosen.value.includes(dump.id));
  if (!found.length) return null;
  return (
    <div class="chosen" role="group" aria-label={t.label}>
      <strong>{t.chosen(found.length)}</strong>
      <Together dumps={found} />
      <button type="button" class="small" onClick={() => (chosen.value = [])}>
        {t.none}
      </button>
    </div>
  );
}
