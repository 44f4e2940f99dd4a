// The one grid of the page: draws the rows in sight of any model, flat or tree, and takes keys.
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Row } from "../api/types";
import { count, shown } from "../format";
import { Icon } from "../parts/icon";
import { openMenu, type MenuItem } from "../parts/menu";
import { texts } from "../texts";
import { Cell, cellText, columnLabel, columnWidths, isSide } from "./cells";
import { isNumeric, type Model } from "./model";
import { narrow } from "./narrow";

// Browsers cut elements off at some 17 million pixels, which is less than a million rows on a phone.
const MAX_HEIGHT = 8_000_000;
const HEAD = 32;
/** Each level of a tree is indented by this many pixels, up to the most that leaves room for names. */
const INDENT = 16;
const MOST_INDENT = 320;
const MOST_INDENT_SMALL = 96;
/** The least width that a column can be drawn to. */
const LEAST_WIDTH = 48;
/** Rows of a table in which empty columns are looked for. */
const MOST_LOOKED_AT = 200;
const MINOR = new Set(["percent", "type", "object", "declared_in", "index", "class_name"]);

export interface GridProps {
  model: Model;
  label: string;
  sort?: string | null;
  onSort?: ((sort: string) => void) | undefined;
  actions?: ((row: Row) => MenuItem[]) | undefined;
  /** Enter and click. */
  onPick?: ((row: Row) => void) | undefined;
  isSelected?: ((row: Row) => boolean) | undefined;
  /** Grows with its rows up to this many pixels, instead of filling its place. */
  most?: number;
  /** It shares its line with another part: rows are blocks where columns would be cut off. */
  beside?: boolean;
  empty: string;
}

export function Grid(props: GridProps) {
  const { model } = props;
  const t = texts.value.table;
  void model.version.value;
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [room, setRoom] = useState(400);
  const [width, setWidth] = useState(Infinity);
  const [active, setPlace] = useState(0);
  const key = useRef<string | null>(null);
  const setActive = (index: number) => {
    setPlace(index);
    key.current = model.keyAt?.(index) ?? null;
  };
  const { total } = model;
  // At the side of a view only what tells rows apart has room; the rest is in the title of the row.
  const isSmall = props.most !== undefined;
  const wanted = useMemo(() => (isSmall ? model.columns.filter((column) => !MINOR.has(column.key)) : model.columns), [model.columns, isSmall]);
  const columns = useMemo(() => filled(model, wanted), [model, wanted, model.version.value]);
  const minor = isSmall ? model.columns.filter((column) => MINOR.has(column.key)) : [];
  const main = Math.max(0, columns.findIndex((column) => column.kind === "text"));
  // Widths that were drawn, by column.
  const [drawn, setDrawn] = useState<Record<string, number>>({});
  const widths = useMemo(() => columnWidths(columns, isSmall, drawn), [columns, texts.value, isSmall, drawn]);
  const isBlocks = narrow.value || (props.beside && !Object.keys(drawn).length && width < widths.least);
  const mostIndent = isSmall || isBlocks ? MOST_INDENT_SMALL : MOST_INDENT;
  const indent = (levels: number) => Math.min(levels * INDENT, mostIndent);
  // In blocks numbers stand below the name, two or more in a line, and texts in lines of their own.
  const numbers = columns.filter((column) => isNumeric(column.kind)).length;
  const tall = isBlocks ? 32 + 19 * Math.max(1, Math.max(0, columns.length - numbers - 2) + Math.ceil((numbers + 1) / 2)) : 30;
  const resize = (event: PointerEvent, key: string) => {
    event.preventDefault();
    event.stopPropagation();
    const handle = event.currentTarget as HTMLElement;
    const from = event.clientX;
    const width = handle.parentElement!.getBoundingClientRect().width;
    handle.setPointerCapture(event.pointerId);
    handle.onpointermove = (moved) => setDrawn((old) => ({ ...old, [key]: Math.round(Math.max(LEAST_WIDTH, width + moved.clientX - from)) }));
    handle.onpointerup = handle.onpointercancel = () => (handle.onpointermove = handle.onpointerup = handle.onpointercancel = null);
  };

  // The place of rows: beyond MAX_HEIGHT a pixel of the scrollbar stands for several of the table.
  const full = total * tall;
  const height = Math.min(full, MAX_HEIGHT);
  const view = Math.max(tall, room - (isBlocks ? 0 : HEAD));
  const scale = full > height ? (full - view) / (height - view) : 1;
  const from = Math.max(0, Math.floor((top * scale) / tall) - 4);
  const to = Math.min(total, Math.ceil((top * scale + view) / tall) + 4);

  useLayoutEffect(() => {
    const element = box.current!;
    const measure = () => (setRoom(element.clientHeight), setWidth(element.clientWidth));
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  useEffect(() => model.need(from, to), [model, from, to, model.ready]);
  useEffect(() => {
    if (model.stays) {
      const place = key.current === null ? -1 : model.placeOf!(key.current);
      if (place >= 0) setPlace(place);
      return;
    }
    setActive(0);
    box.current?.scrollTo({ top: 0 });
  }, [model]);
  useEffect(() => {
    if (total > 0 && active >= total) setActive(total - 1);
  }, [total]);
  const version = model.version.value;
  useEffect(() => {
    // A table that has grown may have the row elsewhere.
    const now = key.current === null ? null : (model.keyAt?.(active) ?? null);
    if (now === null || now === key.current) return;
    const place = model.placeOf!(key.current!);
    if (place >= 0) setPlace(place);
  }, [version]);

  const show = (index: number) => {
    setActive(index);
    const element = box.current!;
    const at = index * tall;
    const seen = element.scrollTop * scale;
    if (at < seen) element.scrollTop = at / scale;
    else if (at + tall > seen + view) element.scrollTop = (at + tall - view) / scale;
  };
  const menu = (index: number, at: HTMLElement | { x: number; y: number }) => {
    const row = model.at(index);
    const items = row && props.actions ? props.actions(row) : [];
    if (row && items.length) openMenu(t.actionsFor(cellText(columns[main]!, row)), items, at);
  };
  const pick = (index: number) => {
    const row = model.at(index);
    const standing = model.standing?.(index);
    if (standing?.more) model.toggle!(index);
    else if (row && props.onPick && (row.object || row.class || !standing)) props.onPick(row);
    else if (standing?.open !== null) model.toggle?.(index);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.target !== box.current || event.ctrlKey || event.metaKey || event.altKey || !total) return;
    const standing = model.standing?.(active);
    const page = Math.max(1, Math.floor(view / tall) - 1);
    const steps: Record<string, number> = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: total - 1 };
    if (event.key in steps) show(Math.max(0, Math.min(total - 1, steps[event.key]!)));
    else if (event.key === "Enter" || event.key === " ") pick(active);
    else if (event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey)) {
      const line = document.getElementById(`${id}-${active}`);
      if (line) menu(active, line.querySelector<HTMLElement>(".row-menu") ?? line);
    } else if (event.key === "ArrowRight" && standing) {
      if (standing.open === false) model.toggle!(active);
      else if (standing.open) show(Math.min(total - 1, active + 1));
    } else if (event.key === "ArrowLeft" && standing) {
      if (standing.open) model.toggle!(active);
      else if (standing.parent >= 0) show(standing.parent);
    } else return;
    event.preventDefault();
  };

  const isTree = model.standing !== undefined;
  const style: Record<string, string> = { "--columns": widths.css, "--least": widths.least + "px", "--tall": tall + "px" };
  if (props.most) style["height"] = Math.min(props.most, Math.max(tall, full) + HEAD + 2 + (widths.least > 380 ? 12 : 0)) + "px";
  const lines = [];
  for (let index = from; index < to; index++) lines.push(line(index));

  function line(index: number) {
    const row = model.at(index);
    const standing = model.standing?.(index);
    // With a scaled scrollbar rows stand relative to what is in sight.
    const y = scale === 1 ? index * tall : top + index * tall - top * scale;
    const place = { transform: `translateY(${y}px)` };
    const tree = isTree && standing ? { "aria-level": standing.level, "aria-expanded": standing.open ?? undefined } : {};
    const state = "row" + (index === active ? " active" : "") + (row && props.isSelected?.(row) ? " selected" : "") + (index % 2 ? " odd" : "");
    if (standing?.more) {
      const { left } = standing.more;
      return (
        <div key={index} id={`${id}-${index}`} role="row" class={state} style={place} aria-rowindex={index + 2} {...tree}>
          <div role="gridcell" class="cell more-cell" aria-colspan={columns.length + 1} style={{ paddingLeft: `${indent(standing.level) + 12}px` }}>
            <button type="button" tabIndex={-1} class="link" onClick={() => model.toggle!(index)}>
              {left === null ? t.moreRowsUnknown : t.moreRows(count(Math.min(100, left)))}
            </button>
          </div>
        </div>
      );
    }
    return (
      <div key={index} id={`${id}-${index}`} role="row" class={state} style={place} aria-rowindex={index + 2} aria-selected={row && props.isSelected ? props.isSelected(row) : undefined} {...tree}
        onClick={() => (setActive(index), pick(index))}
        onContextMenu={(event) => {
          if (!row || !props.actions?.(row).length) return;
          event.preventDefault();
          setActive(index);
          menu(index, { x: event.clientX, y: event.clientY });
        }}>
        {columns.map((column, at) => {
          const numeric = isNumeric(column.kind);
          const text = row ? cellText(column, row) : "";
          return (
            <div key={column.key} role="gridcell" class={"cell " + (numeric ? "numeric" : "texty") + (at === main ? " main" : "") + (text ? "" : " blank")} data-label={columnLabel(column)} title={numeric ? undefined : titleOf(text, at === main && row ? minor.map((other) => [columnLabel(other), cellText(other, row)] as const) : [])}
              style={at === main && isTree ? { paddingLeft: `${indent(standing!.level - 1) + 4}px` } : undefined}>
              {at === main && isTree && (
                <button type="button" tabIndex={-1} class={"twist" + (standing!.busy ? " busy" : "")} aria-hidden="true" disabled={standing!.open === null}
                  onClick={(event) => (event.stopPropagation(), setActive(index), model.toggle!(index))}>
                  {standing!.open !== null && <Icon name={standing!.open ? "down" : "right"} />}
                </button>
              )}
              {at === main && isTree && (standing!.level - 1) * INDENT > mostIndent && <span class="label level">{count(standing!.level)}</span>}
              {row ? <Cell column={column} row={row} /> : <i class="ghost" />}
            </div>
          );
        })}
        <div role="gridcell" class="cell tools">
          {row && props.actions && props.actions(row).length > 0 && (
            <button type="button" class="bare row-menu" tabIndex={-1} aria-haspopup="menu" aria-label={t.actions} onClick={(event) => (event.stopPropagation(), setActive(index), menu(index, event.currentTarget))}>
              <Icon name="more" />
            </button>
          )}
        </div>
      </div>
    );
  }

  return (
    <div class={"grid" + (props.most ? " grows" : "") + (isBlocks ? " blocks" : "")} ref={box} role={isTree ? "treegrid" : "grid"} aria-label={props.label} aria-rowcount={total + 1} aria-colcount={columns.length + 1} tabIndex={0} style={style} title=""
      aria-activedescendant={total > 0 && active >= from && active < to ? `${id}-${active}` : undefined} aria-describedby={id + "-hint"} aria-busy={!model.ready}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)} onKeyDown={onKey}>
      <div role="rowgroup" class="grid-head">
        <div role="row" class="row head" aria-rowindex={1}>
          {columns.map((column, at) => {
            const own = props.sort?.replace(/^-/, "") === column.key;
            const down = props.sort?.startsWith("-") ?? false;
            const next = own ? (down ? column.key : "-" + column.key) : (isNumeric(column.kind) ? "-" : "") + column.key;
            return (
              <div key={column.key} role="columnheader" class={"cell " + (isNumeric(column.kind) ? "numeric" : "texty") + (at === main ? " main" : "") + (isSide(column) ? " two-lines" : "")} aria-sort={own ? (down ? "descending" : "ascending") : props.onSort ? "none" : undefined}>
                {props.onSort ? (
                  <button type="button" title={t.sort(columnLabel(column))} onClick={() => props.onSort!(next)}>
                    {columnLabel(column).replace(/\S+$/, "")}
                    <span class="last-word">
                      {/\S*$/.exec(columnLabel(column))![0]}
                      <span aria-hidden="true">{own ? (down ? " ↓" : " ↑") : ""}</span>
                    </span>
                  </button>
                ) : (
                  columnLabel(column)
                )}
                {!isBlocks && (
                  <span class="resize" title={t.resize} onPointerDown={(event) => resize(event, column.key)} onClick={(event) => event.stopPropagation()}
                    onDblClick={() => setDrawn(({ [column.key]: _, ...rest }) => rest)} />
                )}
              </div>
            );
          })}
          <div role="columnheader" class="cell tools">
            <span class="hidden-text">{t.actions}</span>
          </div>
        </div>
      </div>
      <div role="rowgroup" class="grid-body" style={{ height: `${height}px` }}>
        {lines}
        {!total && model.ready && (
          <div role="row" class="row none">
            <div role="gridcell" class="cell empty-cell">
              {props.empty}
            </div>
          </div>
        )}
      </div>
      <span id={id + "-hint"} class="hidden-text">
        {isTree ? t.treeHint : t.hint}
      </span>
    </div>
  );
}

/** The columns that have anything, where all rows are there; one at least. */
function filled(model: Model, columns: Model["columns"]): Model["columns"] {
  const { total } = model;
  if (!total || total > MOST_LOOKED_AT || model.standing) return columns;
  const rows = Array.from({ length: total }, (_, index) => model.at(index));
  if (rows.some((row) => !row)) return columns;
  const kept = columns.filter((column) => rows.some((row) => cellText(column, row!) !== ""));
  return kept.length && kept.length < columns.length ? kept : columns;
}

/** What a cell may have no room for, and what its row leaves out. */
function titleOf(text: string, more: (readonly [string, string])[]): string | undefined {
  const lines = more.filter(([, value]) => value).map(([label, value]) => `${label}: ${shown(value)}`);
  return lines.length ? [shown(text), ...lines].join("\n") : text.length > 12 ? shown(text) : undefined;
}
