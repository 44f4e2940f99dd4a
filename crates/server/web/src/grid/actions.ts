// What can be done with a row, the same in every table, in MAT's words.
import { address, setQuery, to, withQuery } from "../route";
import type { Row } from "../api/types";
import type { MenuItem } from "../parts/menu";
import { texts } from "../texts";

export type Shown = "fields" | "entries" | "statics" | "out" | "in" | "path" | "retained" | "class";

/** The address of this view with an object in the inspector. */
export const selectObject = (object: string, show: Shown | null = null) => withQuery({ select: object, show });
export const selectClass = (id: string) => withQuery({ select: "class:" + id, show: null });

export function objectActions(dump: string, object: string): MenuItem[] {
  const t = texts.value.actions;
  const sql = `SELECT * FROM objects WHERE id = '${object}'`;
  return [
    { label: t.inspect, href: selectObject(object) },
    { label: t.out, href: selectObject(object, "out") },
    { label: t.in, href: selectObject(object, "in") },
    { label: t.path, href: selectObject(object, "path") },
    { label: t.dominators, href: to(`/dumps/${dump}/dominators`, { node: object, select: object }) },
    { label: t.treemap, href: to(`/dumps/${dump}/treemap`, { node: object, select: object }) },
    { label: t.retainedSet, href: selectObject(object, "retained") },
    { label: t.sql, href: to(`/dumps/${dump}/sql`, { sql }) },
    { label: t.copy, copy: object },
  ];
}

export function classActions(dump: string, id: string, name: string | null): MenuItem[] {
  const t = texts.value.actions;
  const quoted = name?.replaceAll("'", "''");
  const items: MenuItem[] = [
    { label: t.inspectClass, href: selectClass(id) },
    { label: t.instances, href: to(`/dumps/${dump}/instances`, { class: id, name }) },
    { label: t.classReferences, href: to(`/dumps/${dump}/class-references`, { class: id, name }) },
    { label: t.merged, href: to(`/dumps/${dump}/merged`, { class: id, name }) },
  ];
  if (quoted) items.push({ label: t.sql, href: to(`/dumps/${dump}/sql`, { sql: `SELECT * FROM objects WHERE class = '${quoted}' ORDER BY retained DESC LIMIT 100` }) });
  return items;
}

export function rowActions(dump: string, row: Row): MenuItem[] {
  const t = texts.value.actions;
  const items: MenuItem[] = [];
  const name = typeof row["name"] === "string" ? row["name"] : null;
  if (row.object) items.push(...objectActions(dump, row.object));
  if (row.class) {
    if (items.length) items.push("line");
    items.push(...classActions(dump, row.class, row.object ? null : name));
  }
  if (name) items.push({ label: t.copyName, copy: name });
  return items;
}

/** Enter and click on a row. */
export function pickRow(row: Row): void {
  if (row.object) setQuery({ select: row.object });
  else if (row.class) setQuery({ select: "class:" + row.class });
}

export function isSelectedRow(row: Row): boolean {
  const select = address.value.query.get("select");
  if (!select) return false;
  return row.object ? row.object === select : !!row.class && "class:" + row.class === select;
}
