// What grew since another dump, by class or package.
import { useGet } from "../api/client";
import type { Dump, Page, Row } from "../api/types";
import { isSelectedRow, pickRow, rowActions } from "../grid/actions";
import { Table } from "../grid/table";
import { shown, time } from "../format";
import { A, Empty } from "../parts/basics";
import { address, setQuery, to } from "../route";
import { texts } from "../texts";
import { CompareMany } from "./compare-many";
import { useAddressState } from "./state";
import { Choice } from "./table-page";

export function Compare({ dump }: { dump: Dump }) {
  const t = texts.value;
  const state = useAddressState();
  const { query } = address.value;
  const other = query.get("with");
  const by = query.get("by") ?? "class";
  const also = query.get("also")?.split(".") ?? [];
  const list = useGet<Page<Dump>>("dumps?limit=200");
  const others = (list.value?.items ?? []).filter((item) => item.id !== dump.id && item.kind === "heap" && item.job?.state === "done");
  if (list.value && !others.length && !other) return <Empty>{t.compare.none}</Empty>;
  const pick = (row: Row) => {
    // A package leads to its classes; a class that only the other dump has cannot be looked at here.
    if (by === "package" && typeof row["name"] === "string") setQuery({ by: null, sort: null, filter: `^${row["name"].replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")}\\.[^.]*$` });
    else pickRow(row);
  };
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
      <Choice label={t.by["label"]!} options={(also.length ? ["class", "package"] : ["class", "package", "dominator"]).map((value) => [value, t.by[value]!])} value={by} onPick={(value) => setQuery({ by: value === "class" ? null : value, sort: null, filter: null })} />
      {other && others.length > 1 && <Also others={others.filter((item) => item.id !== other)} chosen={also} />}
      {/* The server calls the dump in the path "before". */}
      {other && also.length > 0 && <CompareMany dumps={[dump, ...others.filter((item) => item.id === other || also.includes(item.id))]} by={by === "dominator" ? "class" : by} />}
      {other && !also.length && <Table key={other + by} path={`dumps/${encodeURIComponent(other)}/compare`} params={{ with: dump.id, by }} state={state} label={t.views["compare"]![0]} actions={(row) => rowActions(dump.id, row)} onPick={pick} isSelected={isSelectedRow} files order="-retained_delta" />}
    </>
  );
}

/** Further dumps, for a table with a column for each. */
function Also({ others, chosen }: { others: Dump[]; chosen: string[] }) {
  const t = texts.value.compare;
  const pick = (id: string, on: boolean) => setQuery({ also: [...chosen.filter((item) => item !== id), ...(on ? [id] : [])].join("."), sort: null });
  return (
    <details class="also" open={chosen.length > 0}>
      <summary>{t.also}</summary>
      <div class="also-list">
        {others.map((item) => (
          <label key={item.id} class="check">
            <input type="checkbox" checked={chosen.includes(item.id)} onChange={(event) => pick(item.id, event.currentTarget.checked)} /> {shown(item.name)} ({time(item.uploaded_at)})
          </label>
        ))}
      </div>
    </details>
  );
}
