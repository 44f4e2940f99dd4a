// The memory of a running JVM's process as it is now: rows that add up to the resident set, and what they have grown by.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { failureOf, getJson, type Failure } from "../api/client";
import type { Column, LiveJvm, LiveMemory, Row } from "../api/types";
import { bytes, duration, shown, timeOfDay } from "../format";
import { Grid } from "../grid/grid";
import { Local } from "../grid/local";
import { useAddressState } from "../heap/state";
import { Empty, Notes, Problem, Skeleton } from "../parts/basics";
import type { MenuItem } from "../parts/menu";
import { texts } from "../texts";
import { said } from "../texts/said";

/** How often the JVM is asked while somebody follows its memory, in milliseconds. */
const FOLLOW = 5000;
/** Slower growth is taken for noise, in bytes a second. */
const NOISE = 4096;

type Look = LiveMemory & { at: number };

const columns = (compares: boolean): Column[] => {
  const t = texts.value.live;
  return [
    { key: "name", label: t.memoryRow, kind: "text" },
    { key: "resident", label: t.memoryResident, kind: "bytes" },
    ...(compares ? [{ key: "resident_delta", label: t.memoryResident + " +/\u2212", kind: "bytes" } as Column] : []),
    { key: "share", label: t.memoryShare, kind: "percent" },
    { key: "committed", label: t.memoryCommitted, kind: "bytes" },
    { key: "used", label: t.memoryUsed, kind: "bytes" },
    { key: "details", label: t.memoryDetails, kind: "text" },
  ];
};

/** Rows with what they have more than before; rows that are gone stay, with nothing. */
function rowsOf(now: Look, before: Look): Row[] {
  const known = new Map(before.rows.map((row) => [row.name, row.resident]));
  const rows = now.rows.map((row): Row => {
    const old = known.get(row.name) ?? 0;
    known.delete(row.name);
    return { ...row, share: now.resident ? (100 * row.resident) / now.resident : 0, resident_delta: row.resident - old };
  });
  for (const [name, old] of known) rows.push({ name, resident: 0, share: 0, resident_delta: -old });
  return rows;
}

/** The row that grows fastest, and the time until the limit at the rate of the whole process. */
function growth(now: Look, before: Look): string | null {
  const t = texts.value.live;
  const seconds = (now.at - before.at) / 1000;
  if (seconds < 1) return null;
  const rows = rowsOf(now, before).map((row) => [String(row["name"]), Number(row["resident_delta"]) / seconds] as const);
  const most = rows.reduce((a, b) => (b[1] > a[1] ? b : a), ["", 0] as const);
  if (most[1] <= NOISE) return t.memorySteady;
  const rate = (now.resident - before.resident) / seconds;
  const time = now.left !== null && rate > NOISE ? t.memoryLimitIn(duration(Math.round(now.left / rate))) : "";
  return t.memoryGrows(shown(most[0]), bytes(Math.round(most[1] * 60))) + time;
}

export function LiveMemoryView({ id, jvm }: { id: string; jvm: LiveJvm }) {
  const t = texts.value;
  const state = useAddressState();
  const [look, setLook] = useState<Look | null>(null);
  const [base, setBase] = useState<Look | null>(null);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [follows, setFollows] = useState(false);
  const abort = useRef(new AbortController());
  const load = async () => {
    setBusy(true);
    try {
      const found = { ...(await getJson<LiveMemory>(`jvms/${encodeURIComponent(id)}/memory`, abort.current.signal)), at: Date.now() };
      setLook(found);
      setBase((old) => old ?? found);
      setFailure(null);
    } catch (error) {
      if (abort.current.signal.aborted) return;
      setFailure(failureOf(error));
    }
    setBusy(false);
  };
  useEffect(() => {
    abort.current = new AbortController();
    if (jvm.can.threads) void load();
    return () => abort.current.abort();
  }, [id, jvm.can.threads]);
  useEffect(() => {
    if (!follows || busy || failure) return;
    const timer = setTimeout(() => void load(), FOLLOW);
    return () => clearTimeout(timer);
  }, [follows, busy, failure]);
  const compares = look !== null && base !== null && look !== base;
  const sort = state.sort ?? "-resident";
  const model = useMemo(() => look && base && Object.assign(new Local(columns(compares), rowsOf(look, base), sort, state.filter), { stays: true }), [look, base, compares, sort, state.filter, texts.value]);
  if (!jvm.can.threads) return <Empty>{t.live.noMemory}</Empty>;
  const actions = (row: Row): MenuItem[] => [{ label: t.actions.copyName, copy: String(row["name"]) }];
  const grown = compares && growth(look, base);
  return (
    <div class="table-part">
      <div class="tools-line">
        <button type="button" disabled={busy} onClick={() => void load()}>
          {t.live.refresh}
        </button>
        <label class="check">
          <input type="checkbox" checked={follows} onChange={(event) => setFollows(event.currentTarget.checked)} /> {t.live.follow5}
        </label>
        <button type="button" disabled={busy || !compares} onClick={() => setBase(look)}>
          {t.live.fromNow}
        </button>
        <span class="dim rows" role="status">
          {look && base ? `${t.live.memoryAll(bytes(look.resident))}${look.limit === null ? "" : t.live.memoryLimit(bytes(look.limit))}, ${compares ? t.live.between(timeOfDay(base.at), timeOfDay(look.at)) : timeOfDay(look.at)}` : ""}
        </span>
      </div>
      {failure && <Problem failure={failure} again={() => void load()} />}
      {grown && <p>{grown}</p>}
      {look?.causes.map((cause) => (
        <p key={cause}>{shown(said(cause))}</p>
      ))}
      <Notes notes={look?.notes} />
      {!model && !failure && <Skeleton lines={10} />}
      {model && <Grid model={model} label={t.live.views["memory"]!} sort={sort} onSort={(next) => state.set({ sort: next })} actions={actions} empty={t.table.empty} />}
      {look && (
        <dl class="facts compact">
          {look.facts.map((fact) => (
            <div key={fact.name}>
              <dt>{shown(fact.name)}</dt>
              <dd>{shown(fact.value)}</dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  );
}
