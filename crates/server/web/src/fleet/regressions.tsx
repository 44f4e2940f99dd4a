// What takes more in a new build of a service than in an old one.
import { useGet } from "../api/client";
import type { TableAnswer } from "../api/types";
import { shown } from "../format";
import { Table } from "../grid/table";
import { useAddressState } from "../heap/state";
import { A, Empty, Problem, Skeleton } from "../parts/basics";
import { address, setQuery, withQuery } from "../route";
import { texts } from "../texts";
import { MeasureChoice, nameActions, ServiceSelect, useDone } from "./choices";

export function Regressions({ services }: { services: string[] }) {
  const service = address.value.query.get("service") ?? services[0]!;
  return <OfService key={service} services={services} service={service} />;
}

function OfService({ services, service }: { services: string[]; service: string }) {
  const t = texts.value.fleet;
  const { query } = address.value;
  const state = useAddressState();
  const tick = useDone();
  const builds = useGet<TableAnswer>(`fleet/builds?limit=1000&service=${encodeURIComponent(service)}`, tick);
  if (builds.failure && !builds.value) return <Problem failure={builds.failure} again={builds.again} />;
  if (!builds.value) return <Skeleton />;
  // The newest is first.
  const names = builds.value.rows.map((row) => String(row["build"]));
  const after = query.get("new") ?? names[0] ?? "";
  const before = query.get("old") ?? names.find((name) => name !== after) ?? "";
  const by = query.get("by") ?? "retained";
  const select = (key: "old" | "new", value: string) => (
    <label>
      {t[key]}{" "}
      <select value={value} onChange={(event) => setQuery({ [key]: event.currentTarget.value })}>
        {(names.includes(value) ? names : [...names, value]).map((name) => (
          <option key={name} value={name}>
            {shown(name)}
          </option>
        ))}
      </select>
    </label>
  );
  const tools = (
    <div class="tools-line">
      <ServiceSelect services={services} value={service} />
      {before && select("old", before)}
      {before && select("new", after)}
      {before && <A href={withQuery({ old: after, new: before })}>{t.swap}</A>}
      {before && <MeasureChoice value={by} />}
    </div>
  );
  return (
    <>
      {tools}
      {!before && <Empty>{t.oneBuild}</Empty>}
      {before && <Table key={before + " " + after + by} path="fleet/regressions" params={{ service, old: before, new: after, by }} state={state} label={t.views["regressions"]![0]} tick={tick} actions={nameActions} order="-grown_delta" files />}
    </>
  );
}
