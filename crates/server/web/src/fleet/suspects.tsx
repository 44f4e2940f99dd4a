// Suspects of all dumps, and the services that carry one.
import { useGet } from "../api/client";
import type { Row, TableAnswer } from "../api/types";
import { shown } from "../format";
import { Table } from "../grid/table";
import { useAddressState } from "../heap/state";
import { A, Empty, Name, Problem, Skeleton } from "../parts/basics";
import type { MenuItem } from "../parts/menu";
import { address, go, to, withQuery } from "../route";
import { texts } from "../texts";
import { said } from "../texts/said";
import { ServiceSelect, useDone } from "./choices";

export function Suspects({ services }: { services: string[] }) {
  const t = texts.value.fleet;
  const { query } = address.value;
  const service = query.get("service");
  const suspect = query.get("suspect");
  const state = useAddressState();
  const tick = useDone();
  if (suspect) return <One code={suspect} />;
  const open = (row: Row) => withQuery({ suspect: String(row["code"]), sort: null, filter: null });
  const actions = (row: Row): MenuItem[] => [
    { label: t.toCarriers, href: open(row) },
    { label: texts.value.actions.copyName, copy: String(row["signature"]) },
  ];
  return (
    <>
      <div class="tools-line">
        <ServiceSelect services={services} value={service} all />
      </div>
      <Table key={service} path="fleet/suspects" params={{ service }} state={state} label={t.views["suspects"]![0]} tick={tick} actions={actions} onPick={(row) => go(open(row))} order="-services" files />
    </>
  );
}

/** A suspect: what it is, and who carries it. */
function One({ code }: { code: string }) {
  const t = texts.value.fleet;
  const tick = useDone();
  const state = useAddressState();
  const found = useGet<TableAnswer>(`fleet/suspects?code=${encodeURIComponent(code)}`, tick);
  if (found.failure && !found.value) return <Problem failure={found.failure} again={found.again} />;
  if (!found.value) return <Skeleton />;
  const row = found.value.rows[0];
  const dump = (of: Row) => `/dumps/${encodeURIComponent(String(of["dump"]))}/suspects`;
  const actions = (of: Row): MenuItem[] => [
    { label: t.toDump, href: dump(of) },
    { label: t.toSuspects, href: to("/fleet/suspects", { service: String(of["service"]) }) },
    { label: t.toGrowth, href: to("/fleet/growth", { service: String(of["service"]) }) },
  ];
  return (
    <>
      <p class="crumbs">
        <A href={withQuery({ suspect: null, sort: null, filter: null })}>{t.allSuspects}</A> {row && <>› <Name text={String(row["signature"])} /></>}
      </p>
      {!row && <Empty>{t.gone}</Empty>}
      {row && <p class="lead-line">{shown(said(String(row["title"])))}</p>}
      {row && <Table path={`fleet/suspects/${encodeURIComponent(code)}`} state={state} label={t.carried} tick={tick} actions={actions} onPick={(of) => go(dump(of))} order="-most_retained" files />}
    </>
  );
}
