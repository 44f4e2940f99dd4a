// Questions over many dumps: services, what grows, suspects, builds, waste.
import { useEffect, useRef, useState } from "preact/hooks";
import { API, useGet } from "../api/client";
import type { Row, TableAnswer } from "../api/types";
import { NotFound, useTitle } from "../app";
import { useAddressState } from "../heap/state";
import { Choice } from "../heap/table-page";
import { A, Empty, Problem, Skeleton } from "../parts/basics";
import { Boundary } from "../parts/boundary";
import { Icon } from "../parts/icon";
import type { MenuItem } from "../parts/menu";
import { Table } from "../grid/table";
import { address, go, setQuery, to } from "../route";
import { texts } from "../texts";
import { Labelled, MeasureChoice, nameActions, ServiceSelect, useDone } from "./choices";
import { Regressions } from "./regressions";
import { Suspects } from "./suspects";

/** The views with the file of docs/fleet that asks exported tables. */
const VIEWS: [id: string, sql: string][] = [
  ["services", "top-retained.sql"],
  ["growth", "growing-classes.sql"],
  ["suspects", "suspects.sql"],
  ["regressions", "regressions.sql"],
  ["waste", "duplicate-strings.sql"],
];
const LAST = ["3", "5", "10", "20"];
const CURL = "hprof-rs capture PID --label service=shop --label host=web-1 --label build=812";

export function FleetPage({ id }: { id: string }) {
  const t = texts.value.fleet;
  const view = VIEWS.find(([known]) => known === id);
  const [title, about] = t.views[id] ?? ["", ""];
  useTitle(title, t.title);
  const main = useRef<HTMLElement>(null);
  const before = useRef(id);
  useEffect(() => {
    if (before.current !== id) main.current?.focus({ preventScroll: true });
    before.current = id;
  }, [id]);
  if (!view) return <NotFound />;
  return (
    <div class="workspace fleet">
      <nav class="dump-bar" aria-label={texts.value.place}>
        <A href="/" class="dim">
          {texts.value.home}
        </A>
        <span class="dim" aria-hidden="true">
          /
        </span>
        <strong>
          <A href="/fleet">{t.title}</A>
        </strong>
      </nav>
      <Navigation current={id} />
      <main id="main" ref={main} tabIndex={-1} class="view" aria-labelledby="view-title">
        <div class="view-head">
          <h1 id="view-title">{title}</h1>
          <p class="dim about">{about}</p>
        </div>
        <Boundary at={id}>
          <Body key={id} id={id} />
        </Boundary>
        <p class="dim fleet-more">
          {t.more}{" "}
          <a href={`${API}/fleet/sql/${view[1]}`} class="mono">
            {view[1]}
          </a>
        </p>
      </main>
    </div>
  );
}

function Navigation({ current }: { current: string }) {
  const t = texts.value;
  const [open, setOpen] = useState(false);
  useEffect(() => setOpen(false), [current]);
  const service = address.value.query.get("service");
  return (
    <nav class={open ? "views open" : "views"} aria-label={t.fleet.label}>
      <button type="button" class="views-open" aria-expanded={open} aria-controls="view-list" onClick={() => setOpen(!open)}>
        <Icon name="menu" /> {t.fleet.views[current]![0]}
      </button>
      <div id="view-list" class="view-list">
        <div class="view-group">
          {VIEWS.map(([id]) => (
            <A key={id} href={to(id === "services" ? "/fleet" : `/fleet/${id}`, { service })} current={id === current}>
              {t.fleet.views[id]![0]}
            </A>
          ))}
        </div>
      </div>
    </nav>
  );
}

function Body({ id }: { id: string }) {
  const services = useGet<TableAnswer>("fleet/services?limit=1000", useDone());
  if (services.failure && !services.value) return <Problem failure={services.failure} again={services.again} />;
  if (!services.value) return <Skeleton />;
  const names = services.value.rows.map((row) => String(row["service"]));
  if (!names.length) {
    return (
      <Empty>
        <p>{texts.value.fleet.empty}</p>
        <code>{CURL}</code>
      </Empty>
    );
  }
  switch (id) {
    case "growth":
      return <Growth services={names} />;
    case "suspects":
      return <Suspects services={names} />;
    case "regressions":
      return <Regressions services={names} />;
    default:
      return <Services id={id} />;
  }
}

function Services({ id }: { id: string }) {
  const t = texts.value.fleet;
  const actions = (row: Row): MenuItem[] => {
    const service = String(row["service"]);
    return [
      { label: t.toGrowth, href: to("/fleet/growth", { service }) },
      { label: t.toSuspects, href: to("/fleet/suspects", { service }) },
      { label: t.views["regressions"]![0], href: to("/fleet/regressions", { service }) },
      { label: texts.value.actions.copyName, copy: service },
    ];
  };
  const pick = (row: Row) => go(to("/fleet/growth", { service: String(row["service"]) }));
  return <Table path={`fleet/${id}`} state={useAddressState()} label={t.views[id]![0]} tick={useDone()} actions={actions} onPick={pick} order={id === "waste" ? "-array_waste" : "-live"} files />;
}

function Growth({ services }: { services: string[] }) {
  const t = texts.value.fleet;
  const { query } = address.value;
  const service = query.get("service") ?? services[0]!;
  const last = query.get("last") ?? "5";
  const by = query.get("by") ?? "retained";
  const counts = LAST.includes(last) ? LAST : [...LAST, last];
  return (
    <>
      <div class="tools-line">
        <ServiceSelect services={services} value={service} />
        <Labelled label={t.last}>
          <Choice label={t.last} options={counts.map((n) => [n, n])} value={last} onPick={(value) => setQuery({ last: value === "5" ? null : value })} />
        </Labelled>
        <MeasureChoice value={by} />
      </div>
      <Table key={service + last + by} path="fleet/growth" params={{ service, last, by }} state={useAddressState()} label={t.views["growth"]![0]} tick={useDone()} actions={nameActions} order="-grown_delta" files />
    </>
  );
}
