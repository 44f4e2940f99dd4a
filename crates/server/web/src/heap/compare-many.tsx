// More than two dumps side by side: a column for each, from the oldest to the newest.
import { useEffect, useMemo, useState } from "preact/hooks";
import { failureOf, getKept, type Failure } from "../api/client";
import type { Column, Dump, Kind, Row, TableAnswer } from "../api/types";
import { rowActions } from "../grid/actions";
import { Grid } from "../grid/grid";
import { Local } from "../grid/local";
import { shown } from "../format";
import { Notes, Problem, Skeleton } from "../parts/basics";
import { address, setQuery } from "../route";
import { texts } from "../texts";
import { useAddressState } from "./state";
import { Choice } from "./table-page";

const PAGE = 1000;
/** Rows of each dump: those with the largest share of it, which are all that matter in a comparison. */
const MAX_ROWS = 5000;
const MEASURES: Record<string, Kind> = { shallow: "bytes", retained: "bytes", objects: "count" };

async function histogramOf(dump: string, by: string, signal: AbortSignal): Promise<{ rows: Row[]; isCut: boolean }> {
  const rows: Row[] = [];
  let next: string | null = "";
  while (next !== null && rows.length < MAX_ROWS) {
    const place: string = next ? `&cursor=${encodeURIComponent(next)}` : "";
    const answer: TableAnswer = await getKept<TableAnswer>(`dumps/${dump}/histogram?by=${by}&sort=-shallow&limit=${PAGE}${place}`, signal);
    rows.push(...answer.rows);
    next = answer.next;
  }
  return { rows, isCut: next !== null };
}

/** A dump may have several classes of one name; they count together. */
function joined(found: Row[][], measure: string): Row[] {
  const rows = new Map<string, Row>();
  found.forEach((list, at) => {
    for (const row of list) {
      const name = String(row["name"]);
      const sum: Row = rows.get(name) ?? { name, ...Object.fromEntries(found.map((_, index) => ["v" + index, 0])) };
      sum["v" + at] = Number(sum["v" + at] ?? 0) + Number(row[measure] ?? 0);
      rows.set(name, sum);
    }
  });
  const last = "v" + (found.length - 1);
  return [...rows.values()].map((row) => ({ ...row, all_delta: Number(row[last]) - Number(row["v0"]) }));
}

export function CompareMany({ dumps, by }: { dumps: Dump[]; by: string }) {
  const t = texts.value;
  const state = useAddressState();
  const [found, setFound] = useState<{ key: string; lists: Row[][]; isCut: boolean } | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const measure = address.value.query.get("measure") ?? "shallow";
  const sorted = [...dumps].sort((a, b) => a.uploaded_at - b.uploaded_at);
  const key = by + sorted.map((dump) => dump.id).join();
  useEffect(() => {
    const abort = new AbortController();
    Promise.all(sorted.map((dump) => histogramOf(dump.id, by, abort.signal))).then(
      (all) => (setFound({ key, lists: all.map((one) => one.rows), isCut: all.some((one) => one.isCut) }), setFailure(null)),
      (error: unknown) => {
        if (!abort.signal.aborted) setFailure(failureOf(error));
      },
    );
    return () => abort.abort();
  }, [key]);
  const sort = state.sort ?? "-all_delta";
  const kind = MEASURES[measure] ?? "bytes";
  const model = useMemo(() => {
    if (found?.key !== key) return null;
    const columns: Column[] = [{ key: "name", label: t.by[by] ?? by, kind: "text" }, ...sorted.map((dump, at): Column => ({ key: "v" + at, label: shown(dump.name).slice(0, 24), kind })), { key: "all_delta", label: "+/\u2212", kind }];
    return new Local(columns, joined(found.lists, measure), sort, state.filter);
  }, [found, key, measure, sort, state.filter, t]);
  return (
    <div class="table-part">
      <div class="tools-line">
        <Choice label={t.compare.measure} options={Object.keys(MEASURES).map((name) => [name, t.compare.measures[name]!])} value={measure} onPick={(value) => setQuery({ measure: value === "shallow" ? null : value, sort: null })} />
        <input type="search" class="filter mono" aria-label={t.table.filter} placeholder={t.table.filter} aria-invalid={model?.isBad} spellcheck={false} autocomplete="off" value={state.filter} onInput={(event) => state.set({ filter: event.currentTarget.value })} />
      </div>
      {failure && <Problem failure={failure} />}
      {found?.isCut && <Notes notes={[t.compare.cut]} />}
      {!model && !failure && <Skeleton lines={10} />}
      {model && <Grid model={model} label={t.views["compare"]![0]} sort={sort} onSort={(next) => state.set({ sort: next })} actions={(row) => rowActions(dumps[0]!.id, row)} empty={state.filter ? t.table.nothing : t.table.empty} />}
    </div>
  );
}
