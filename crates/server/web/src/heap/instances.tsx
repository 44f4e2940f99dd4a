// The objects of one class.
import { useGet } from "../api/client";
import type { ClassFacts, Dump } from "../api/types";
import { isSelectedRow, pickRow, rowActions, selectClass } from "../grid/actions";
import { Table } from "../grid/table";
import { A, Empty, Name } from "../parts/basics";
import { address } from "../route";
import { texts } from "../texts";
import { useAddressState } from "./state";

export function Instances({ dump }: { dump: Dump }) {
  const t = texts.value;
  const state = useAddressState();
  const id = address.value.query.get("class");
  const facts = useGet<ClassFacts>(id ? `dumps/${dump.id}/classes/${encodeURIComponent(id)}` : null);
  if (!id) return <Empty>{t.table.empty}</Empty>;
  return (
    <>
      <p class="crumbs">
        <A href={`/dumps/${dump.id}/histogram`}>{t.views["histogram"]![0]}</A> ›{" "}
        <A href={selectClass(id)}>
          <Name text={facts.value?.name ?? address.value.query.get("name") ?? id} />
        </A>
      </p>
      <Table path={`dumps/${dump.id}/classes/${encodeURIComponent(id)}/instances`} state={state} label={t.views["instances"]![0]} actions={(row) => rowActions(dump.id, row)} onPick={pickRow} isSelected={isSelectedRow} files />
    </>
  );
}
