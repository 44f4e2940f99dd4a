// The classes that the instances of a class refer to, or that refer to them; each row is the next step.
import type { Dump, Row } from "../api/types";
import { isSelectedRow, pickRow, rowActions, selectClass } from "../grid/actions";
import { Table } from "../grid/table";
import { A, Empty, Name } from "../parts/basics";
import type { MenuItem } from "../parts/menu";
import { address, setQuery, withQuery } from "../route";
import { texts } from "../texts";
import { useAddressState } from "./state";
import { Choice } from "./table-page";

export function ClassReferences({ dump }: { dump: Dump }) {
  const t = texts.value;
  const state = useAddressState();
  const { query } = address.value;
  const id = query.get("class");
  const direction = query.get("direction") === "in" ? "in" : "out";
  if (!id) return <Empty>{t.table.empty}</Empty>;
  const actions = (row: Row): MenuItem[] => {
    const items = rowActions(dump.id, row);
    const name = typeof row["name"] === "string" ? row["name"] : null;
    return row.class ? [{ label: t.actions.nextStep, href: withQuery({ class: row.class, name, sort: null, filter: null }) }, ...items] : items;
  };
  return (
    <>
      <p class="crumbs">
        <A href={`/dumps/${dump.id}/histogram`}>{t.views["histogram"]![0]}</A> ›{" "}
        <A href={selectClass(id)}>
          <Name text={query.get("name") ?? id} />
        </A>
      </p>
      <Choice label={t.actions.classReferences} options={[["out", t.actions.out], ["in", t.actions.in]]} value={direction} onPick={(value) => setQuery({ direction: value === "in" ? "in" : null, sort: null, filter: null })} />
      <Table key={id + direction} path={`dumps/${dump.id}/classes/${encodeURIComponent(id)}/references`} params={{ direction }} state={state} label={t.views["class-references"]![0]} actions={actions} onPick={pickRow} isSelected={isSelectedRow} files order="-objects" />
    </>
  );
}
