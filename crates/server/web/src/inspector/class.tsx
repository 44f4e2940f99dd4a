// A class: its sums, statics and largest instances.
import { useGet } from "../api/client";
import type { ClassFacts, Dump } from "../api/types";
import { pickRow, rowActions, selectObject } from "../grid/actions";
import { Table, useLocalState } from "../grid/table";
import { bytes, count } from "../format";
import { A, Problem, Skeleton, WholeName } from "../parts/basics";
import { to } from "../route";
import { texts } from "../texts";
import { ClassLink, LoaderLine } from "./object";

const TABLE_HEIGHT = 360;
const MAX_SUBCLASSES = 20;

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
      <WholeName text={facts.name} />
      <dl class="facts compact">
        <div>
          <dt>{t.inspector.instances}</dt>
          <dd>
            <A href={to(`/dumps/${dump.id}/instances`, { class: id, name: facts.name })}>{count(facts.instances)}</A>
            {facts.unreached > 0 && <span class="dim">{t.inspector.unreachedToo(count(facts.unreached))}</span>}
          </dd>
        </div>
        <div>
          <dt>{t.inspector.shallow}</dt>
          <dd>
            {bytes(facts.shallow)}
            {facts.instance_bytes !== null && facts.instance_bytes !== undefined && (
              <span class="dim">
                {t.inspector.oneOf} {bytes(facts.instance_bytes)}
              </span>
            )}
          </dd>
        </div>
        {facts.retained !== null && facts.retained !== undefined && (
          <div>
            <dt>{t.inspector.retained}</dt>
            <dd>
              {facts.retained_is_exact === false && "≥ "}
              {bytes(facts.retained)}
            </dd>
          </div>
        )}
        {facts.superclass && (
          <div>
            <dt>{t.inspector.superclass}</dt>
            <dd>
              <ClassLink of={facts.superclass} />
            </dd>
          </div>
        )}
        <LoaderLine loader={facts.loader} object={facts.loader_object} />
        {facts.subclasses?.length > 0 && (
          <div>
            <dt>{t.inspector.subclasses}</dt>
            <dd>
              {facts.subclasses.slice(0, MAX_SUBCLASSES).map((one) => (
                <ClassLink key={one.id ?? one.name} of={one} />
              ))}
              {facts.subclasses.length > MAX_SUBCLASSES && "…"}
            </dd>
          </div>
        )}
      </dl>
      <p class="suspect-links">
        <A href={to(`/dumps/${dump.id}/merged`, { class: id, name: facts.name })}>{t.actions.merged}</A>
        <A href={to(`/dumps/${dump.id}/class-references`, { class: id, name: facts.name })}>{t.actions.classReferences}</A>
        <A href={selectObject(id)}>{t.inspector.tabs["statics"]}</A>
      </p>
      <h3>{t.inspector.instances}</h3>
      <Table path={path} state={instances} label={t.inspector.instances} plain most={TABLE_HEIGHT} onPick={pickRow} actions={(row) => rowActions(dump.id, row)} />
      <h3>{t.inspector.tabs["statics"]}</h3>
      <Table path={`dumps/${dump.id}/objects/${encodeURIComponent(id)}/fields`} params={{ statics: "true" }} state={statics} label={t.inspector.tabs["statics"]!} plain most={TABLE_HEIGHT} onPick={pickRow} actions={(row) => rowActions(dump.id, row)} />
    </>
  );
}
