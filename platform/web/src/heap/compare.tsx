// What grew since another dump, by class or package.
import { useGet } from "../api/client";
import type { Dump, Page } from "../api/types";
import { isSelectedRow, pickRow, rowActions } from "../grid/actions";
import { Table } from "../grid/table";
import { shown, time } from "../format";
import { A, Empty } from "../parts/basics";
import { address, setQuery, to } from "../route";
import { texts } from "../texts";
import { useAddressState } from "./state";
import { Choice } from "./table-page";

export function Compare({ dump }: { dump: Dump }) {
  const t = texts.value;
  const state = useAddressState();
  const { query } = address.value;
  const other = query.get("with");
  const by = query.get("by") ?? "class";
  const list = useGet<Page<Dump>>("dumps?limit=200");
  const others = (list.value?.items ?? []).filter((item) => item.id !== dump.id && item.kind === "heap" && item.job?.state === "done");
  if (list.value && !others.length && !other) return <Empty>{t.compare.none}</Empty>;
  return (
    <>
      <div class="tools-line">
        <label>
          {t.compare.with}{" "}
          <select value={other ?? ""} onChange={(event) => setQuery({ with: event.currentTarget.value, sort: null, filter: null })}>
            <option value="">{t.compare.choose}</option>
            {others.map((item) => (
              <option key={item.id} value={item.id}>
                {shown(item.name)} ({time(item.uploaded_at)})
              </option>
            ))}
          </select>
        </label>
        {other && <A href={to(`/dumps/${encodeURIComponent(other)}/compare`, { with: dump.id, by: query.get("by") })}>{t.compare.swap}</A>}
        <span class="dim">{t.compare.text}</span>
      </div>
      <Choice label={t.by["label"]!} options={["class", "package"].map((value) => [value, t.by[value]!])} value={by} onPick={(value) => setQuery({ by: value === "class" ? null : value, sort: null, filter: null })} />
      {/* The server calls the dump in the path "before". */}
      {other && <Table key={other + by} path={`dumps/${encodeURIComponent(other)}/compare`} params={{ with: dump.id, by }} state={state} label={t.views["compare"]![0]} actions={(row) => rowActions(dump.id, row)} onPick={pickRow} isSelected={isSelectedRow} files order="-shallow_delta" />}
    </>
  );
}
