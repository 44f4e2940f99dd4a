// A view that is one table, with a choice of what its rows stand for.
import { useEffect, useState } from "preact/hooks";
import { useGet } from "../api/client";
import type { Dump, ObjectFacts, Row } from "../api/types";
import { isSelectedRow, pickRow, rowActions } from "../grid/actions";
import { Table } from "../grid/table";
import { A, Name } from "../parts/basics";
import type { MenuItem } from "../parts/menu";
import { address, setQuery, to, withQuery } from "../route";
import { texts } from "../texts";
import { useAddressState } from "./state";
import type { TableView } from "./views";

export function TablePage({ dump, id, view }: { dump: Dump; id: string; view: TableView }) {
  const t = texts.value;
  const state = useAddressState();
  const { query } = address.value;
  const by = view.by ? (query.get("by") ?? view.by[0]!) : null;
  const isTree = Array.isArray(view.tree) ? view.tree.includes(by ?? "") : (view.tree ?? false);
  const node = isTree ? query.get("node") : null;
  const kind = query.get("kind");
  const actions = (row: Row): MenuItem[] => {
    const items = rowActions(dump.id, row);
    // Kinds of roots lead to their objects.
    if (id === "roots" && !kind && !row.object) items.unshift({ label: t.actions.objects, href: withQuery({ kind: rootKind(row), sort: null, filter: null }) });
    return items;
  };
  const pick = (row: Row) => {
    if (id === "roots" && !kind && !row.object) setQuery({ kind: rootKind(row), sort: null, filter: null });
    else pickRow(row);
  };
  return (
    <>
      {view.by && <Choice label={t.by["label"]!} options={view.by.map((value) => [value, t.by[value] ?? value])} value={by!} onPick={(value) => setQuery({ by: value === view.by![0] ? null : value, node: null, sort: null, filter: null, open: null })} />}
      {node && <Here dump={dump} node={node} />}
      {kind && (
        <p class="crumbs">
          <A href={withQuery({ kind: null, sort: null, filter: null })}>{t.views[id]![0]}</A> › <Name text={kind} mono={false} />
        </p>
      )}
      <Table key={`${by}${node}${kind}`} path={`dumps/${dump.id}/${view.path}`} params={{ by, kind }} state={state} label={t.views[id]![0]} tree={isTree} start={node} actions={actions} onPick={pick} isSelected={isSelectedRow} files {...(view.order ? { order: view.order } : {})} />
    </>
  );
}

const rootKind = (row: Row) => String(row.node ?? "");

/** A tree that starts at a node: which, and the way back. */
function Here({ dump, node }: { dump: Dump; node: string }) {
  const t = texts.value.tree;
  const facts = useGet<ObjectFacts>(/^0x[0-9a-f]+$/i.test(node) ? `dumps/${dump.id}/objects/${node}` : null);
  const above = facts.value?.dominator;
  return (
    <p class="crumbs">
      <A href={withQuery({ node: null })}>{t.whole}</A>
      {above && (
        <>
          {" › "}
          <A href={withQuery({ node: above.object })}>
            <Name text={above.name} />
          </A>
        </>
      )}
      {" › "}
      <A href={to(`/dumps/${dump.id}/dominators`, { node, select: node })}>
        <Name text={facts.value?.name ?? node} />
      </A>
    </p>
  );
}

/** A row of buttons of which one is pressed. */
export function Choice(props: { label: string; options: [value: string, label: string][]; value: string; onPick: (value: string) => void }) {
  const [at, setAt] = useState(-1);
  useEffect(() => setAt(-1), [props.value]);
  const index = at >= 0 ? at : Math.max(0, props.options.findIndex(([value]) => value === props.value));
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = (index + step + props.options.length) % props.options.length;
    setAt(next);
    (event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[role=radio]")[next]?.focus();
    props.onPick(props.options[next]![0]);
  };
  return (
    <div class="choice" role="radiogroup" aria-label={props.label} onKeyDown={onKey}>
      {props.options.map(([value, label], place) => (
        <button key={value} type="button" role="radio" aria-checked={value === props.value} tabIndex={place === index ? 0 : -1} onClick={() => props.onPick(value)}>
          {label}
        </button>
      ))}
    </div>
  );
}
