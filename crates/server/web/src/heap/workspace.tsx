// The workspace of a heap dump: views to the left, the chosen one, the inspector to the right.
import { useEffect, useRef, useState } from "preact/hooks";
import { useGet } from "../api/client";
import type { Dump, Overview as OverviewFacts } from "../api/types";
import { NotFound, useTitle } from "../app";
import { DumpTitle } from "../dump";
import { closeInspector, Inspector } from "../inspector/inspector";
import { A } from "../parts/basics";
import { Boundary } from "../parts/boundary";
import { Icon } from "../parts/icon";
import { address } from "../route";
import { texts } from "../texts";
import { ClassReferences } from "./class-references";
import { Compare } from "./compare";
import { Instances } from "./instances";
import { Merged } from "./merged";
import { Overview } from "./overview";
import { SqlConsole } from "./sql";
import { Suspects } from "./suspects";
import { TablePage } from "./table-page";
import { Threads } from "./threads";
import { Treemap } from "./treemap";
import { GROUPS, VIEWS, type View } from "./views";

export function HeapWorkspace({ dump, rest }: { dump: Dump; rest: string[] }) {
  const t = texts.value;
  const id = rest[0] ?? "overview";
  // /dumps/ID/objects/0x7f and /dumps/ID/classes/0x7f are addresses for people: the overview with it open.
  const alias = (id === "objects" || id === "classes") && rest[1] ? (id === "classes" ? "class:" : "") + rest[1] : null;
  const view = VIEWS.find((item) => item.id === (alias ? "overview" : id));
  const [title] = t.views[view?.id ?? ""] ?? [""];
  useTitle(title, dump.name);
  const main = useRef<HTMLElement>(null);
  const before = useRef(view?.id);
  useEffect(() => {
    // A new view takes the focus, so that readers of screens and keys continue there.
    if (before.current !== view?.id) main.current?.focus({ preventScroll: true });
    before.current = view?.id;
  }, [view?.id]);
  if (!view) return <NotFound />;
  const select = address.value.query.get("select") ?? alias;
  const onKey = (event: KeyboardEvent) => {
    // In a field, Escape belongs to what is typed there.
    if (event.key !== "Escape" || event.defaultPrevented || !select || (event.target as HTMLElement).matches("input, textarea, select")) return;
    event.preventDefault();
    closeInspector(dump.id);
  };
  return (
    <div class={select ? "workspace inspecting" : "workspace"}>
      <DumpTitle dump={dump} />
      <Navigation dump={dump} current={view.id} />
      <main id="main" ref={main} tabIndex={-1} class={"view view-" + view.id} aria-labelledby="view-title" onKeyDown={onKey}>
        <div class="view-head">
          <h1 id="view-title">{title}</h1>
          <p class="dim about">{t.views[view.id]?.[1]}</p>
        </div>
        <Boundary at={view.id}>
          <Body key={view.id} dump={dump} view={view} />
        </Boundary>
      </main>
      {select && (
        <Boundary at={select}>
          <Inspector dump={dump} select={select} />
        </Boundary>
      )}
    </div>
  );
}

function Body({ dump, view }: { dump: Dump; view: View }) {
  switch (view.id) {
    case "overview":
      return <Overview dump={dump} />;
    case "suspects":
      return <Suspects dump={dump} />;
    case "treemap":
      return <Treemap dump={dump} />;
    case "threads":
      return <Threads dump={dump} />;
    case "sql":
      return <SqlConsole dump={dump} />;
    case "compare":
      return <Compare dump={dump} />;
    case "instances":
      return <Instances dump={dump} />;
    case "class-references":
      return <ClassReferences dump={dump} />;
    case "merged":
      return <Merged dump={dump} />;
    default:
      return <TablePage dump={dump} id={view.id} view={view.table!} />;
  }
}

function Navigation({ dump, current }: { dump: Dump; current: string }) {
  const t = texts.value;
  const [open, setOpen] = useState(false);
  useEffect(() => setOpen(false), [current]);
  // Views that are empty are not in the list; their addresses work, and say what is missing.
  const { value: facts } = useGet<OverviewFacts>(`dumps/${dump.id}/overview`);
  const isShown = (view: View) => view.id === current || !facts?.empty?.includes(view.id);
  return (
    <nav class={open ? "views open" : "views"} aria-label={t.nav.label}>
      <button type="button" class="views-open" aria-expanded={open} aria-controls="view-list" onClick={() => setOpen(!open)}>
        <Icon name="menu" /> {t.views[current]?.[0] ?? t.nav.open}
      </button>
      <div id="view-list" class="view-list">
        {GROUPS.map((group) => (
          <div key={group} class="view-group" role="group" aria-label={t.nav.groups[group]}>
            <span class="view-group-title" aria-hidden="true">
              {t.nav.groups[group]}
            </span>
            {VIEWS.filter((view) => view.group === group && !view.hidden && isShown(view)).map((view) => (
              <A key={view.id} href={`/dumps/${dump.id}/${view.id}`} current={view.id === current}>
                {t.views[view.id]![0]}
              </A>
            ))}
          </div>
        ))}
      </div>
    </nav>
  );
}
