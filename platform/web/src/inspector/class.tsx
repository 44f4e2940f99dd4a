// A class: its sums, statics and largest instances.
import { useGet } from "../api/client";
import type { ClassFacts, Dump } from "../api/types";
import { pickRow, rowActions, selectClass, selectObject } from "../grid/actions";
import { Table, useLocalState } from "../grid/table";
import { bytes, count } from "../format";
import { A, Name, Problem, Skeleton } from "../parts/basics";
import { to } from "../route";
import { texts } from "../texts";
import { LoaderLine } from "./object";

const TABLE_HEIGHT = 360;

export function ClassBody({ dump, id }: { dump: Dump; id: string }) {
  const t = texts.value;
  const { value: facts, failure, again } = useGet<ClassFacts>(`dumps/${dump.id}/classes/${encodeURIComponent(id)}`);
  const instances = useLocalState();
  const statics = useLocalState();
  if (failure) return <Problem failure={failure} again={again} />;
  if (!facts) return <Skeleton />;
  const path = `dumps/${dump.id}/classes/${encodeURIComponent(id)}/instances`;
  return (
    <>
      <h2 class="object-name">
        <Name text={facts.name} />
      </h2>
      <dl class="facts compact">
        <div>
          <dt>{t.inspector.instances}</dt>
          <dd>
            <A href={to(`/dumps/${dump.id}/instances`, { class: id, name: facts.name })}>{count(facts.instances)}</A>
          </dd>
        </div>
        <div>
          <dt>{t.inspector.shallow}</dt>
          <dd>{bytes(facts.shallow)}</dd>
        </div>
        {facts.retained !== null && facts.retained !== undefined && (
          <div>
            <dt>{t.inspector.retained}</dt>
            <dd>{bytes(facts.retained)}</dd>
          </div>
        )}
        {facts.superclass && (
          <div>
            <dt>{t.inspector.superclass}</dt>
            <dd>
              <A href={selectClass(facts.superclass.id)}>
                <Name text={facts.superclass.name} />
              </A>
            </dd>
          </div>
        )}
        {facts.loader && <LoaderLine loader={facts.loader} />}
      </dl>
      <p class="suspect-links">
        <A href={to(`/dumps/${dump.id}/merged`, { class: id, name: facts.name })}>{t.actions.merged}</A>
        <A href={selectObject(id)}>{t.inspector.tabs["statics"]}</A>
      </p>
      <h3>{t.inspector.instances}</h3>
      <Table path={path} state={instances} label={t.inspector.instances} plain most={TABLE_HEIGHT} onPick={pickRow} actions={(row) => rowActions(dump.id, row)} />
      <h3>{t.inspector.tabs["statics"]}</h3>
      <Table path={`dumps/${dump.id}/objects/${encodeURIComponent(id)}/fields`} params={{ statics: "true" }} state={statics} label={t.inspector.tabs["statics"]!} plain most={TABLE_HEIGHT} onPick={pickRow} actions={(row) => rowActions(dump.id, row)} />
    </>
  );
}
