// The classes of a running JVM as they are now, and what they have grown by since the first look.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { failureOf, getJson, type Failure } from "../api/client";
import { useMay } from "../api/role";
import type { Column, LiveJvm, Row, TableAnswer } from "../api/types";
import { count, timeOfDay } from "../format";
import { Grid } from "../grid/grid";
import { Local } from "../grid/local";
import { useAddressState } from "../heap/state";
import { Empty, Notes, Problem, Skeleton } from "../parts/basics";
import { Confirm } from "../parts/dialog";
import type { MenuItem } from "../parts/menu";
import { texts } from "../texts";

const PAGE = 1000;
/** Classes that are loaded at most: more than programs have. */
const MAX_CLASSES = 100_000;

interface Shot {
  at: number;
  columns: Column[];
  rows: Row[];
  notes: string[];
}

async function take(id: string, isLive: boolean, signal: AbortSignal): Promise<Shot> {
  const base = `jvms/${encodeURIComponent(id)}/histogram?limit=${PAGE}&live=${isLive}`;
  const rows: Row[] = [];
  let next: string | null = null;
  let first: TableAnswer | null = null;
  do {
    const answer: TableAnswer = await getJson<TableAnswer>(next === null ? base : `${base}&cursor=${encodeURIComponent(next)}`, signal);
    first ??= answer;
    rows.push(...answer.rows);
    next = answer.next;
  } while (next !== null && rows.length < MAX_CLASSES);
  return { at: Date.now(), columns: first.columns, rows, notes: first.notes ?? [] };
}

const SUMS = ["objects", "shallow"];

/** The rows with what they have more than before; classes that are gone stay, with nothing. */
function since(now: Shot, before: Shot): { columns: Column[]; rows: Row[] } {
  const known = new Map(before.rows.map((row) => [row["name"], row]));
  const number = (row: Row | undefined, key: string) => (typeof row?.[key] === "number" ? row[key] : 0);
  const rows = now.rows.map((row): Row => {
    const old = known.get(row["name"]);
    known.delete(row["name"]);
    return { ...row, ...Object.fromEntries(SUMS.map((key) => [key + "_delta", number(row, key) - number(old, key)])) };
  });
  for (const [name, old] of known) rows.push({ name, objects: 0, shallow: 0, ...Object.fromEntries(SUMS.map((key) => [key + "_delta", -number(old, key)])) } as Row);
  const more = now.columns.filter((column) => SUMS.includes(column.key)).map((column): Column => ({ ...column, key: column.key + "_delta", label: column.label + " +/\u2212" }));
  return { columns: [...now.columns, ...more], rows };
}

export function LiveHistogram({ id, jvm }: { id: string; jvm: LiveJvm }) {
  const t = texts.value;
  const state = useAddressState();
  const [shot, setShot] = useState<Shot | null>(null);
  const [base, setBase] = useState<Shot | null>(null);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [asked, setAsked] = useState(false);
  const mayCollect = useMay("admin");
  const abort = useRef(new AbortController());
  const load = async (isLive: boolean) => {
    setBusy(true);
    setAsked(false);
    try {
      const found = await take(id, isLive, abort.current.signal);
      setShot(found);
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
    if (jvm.can.histogram) void load(false);
    return () => abort.current.abort();
  }, [id, jvm.can.histogram]);
  const found = useMemo(() => (shot && base && shot !== base ? since(shot, base) : shot), [shot, base]);
  const sort = state.sort ?? (shot === base ? "-shallow" : "-shallow_delta");
  const model = useMemo(() => found && Object.assign(new Local(found.columns, found.rows, sort, state.filter), { stays: true }), [found, sort, state.filter]);
  const actions = (row: Row): MenuItem[] => (typeof row["name"] === "string" ? [{ label: t.actions.copyName, copy: row["name"] }] : []);
  if (!jvm.can.histogram) return <Empty>{t.live.noHistogram}</Empty>;
  return (
    <div class="table-part">
      <div class="tools-line">
        <input type="search" class="filter mono" aria-label={t.table.filter} placeholder={t.table.filter} aria-invalid={model?.isBad} spellcheck={false} autocomplete="off" value={state.filter} onInput={(event) => state.set({ filter: event.currentTarget.value })} />
        <button type="button" disabled={busy} onClick={() => void load(false)}>
          {busy ? t.live.counting : t.live.refresh}
        </button>
        {mayCollect && (
          <button type="button" disabled={busy} onClick={() => setAsked(true)}>
            {t.live.collect}
          </button>
        )}
        <button type="button" disabled={busy || !shot || shot === base} onClick={() => setBase(shot)}>
          {t.live.fromNow}
        </button>
        <span class="dim rows" role="status">
          {model && shot && base ? `${t.table.rows(count(model.total))}, ${shot === base ? timeOfDay(shot.at) : t.live.between(timeOfDay(base.at), timeOfDay(shot.at))}` : ""}
        </span>
      </div>
      {failure && <Problem failure={failure} again={() => void load(false)} />}
      <Notes notes={shot?.notes} />
      {!model && !failure && <Skeleton lines={10} />}
      {model && <Grid model={model} label={t.live.views["histogram"]!} sort={sort} onSort={(next) => state.set({ sort: next })} actions={actions} empty={state.filter ? t.table.nothing : t.table.empty} />}
      {asked && <Confirm title={t.live.collectTitle} text={t.live.collectText} action={t.live.collect} onYes={() => void load(true)} onClose={() => setAsked(false)} />}
    </div>
  );
}
