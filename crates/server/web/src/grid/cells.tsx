// How a cell is shown, by the kind of its column.
import type { Column, Row } from "../api/types";
import { bytes, change, count, lasted, percent, shown, time } from "../format";
import { Bar, Name } from "../parts/basics";
import { texts } from "../texts";
import { isNumeric } from "./model";
import { Trend } from "./trend";

export function columnLabel(column: Column): string {
  const own = texts.value.columns;
  return Object.hasOwn(own, column.key) ? own[column.key]! : shown(column.label);
}

/** A cell as text: for titles and for tests of what is empty. */
export function cellText(column: Column, row: Row): string {
  const value = row[column.key];
  if (value === null || value === undefined) return "";
  if (typeof value === "number") {
    const delta = column.key.endsWith("_delta");
    switch (column.kind) {
      case "bytes":
        return delta ? change(value, bytes) : bytes(value);
      case "percent":
        return delta ? change(value, percent) : percent(value);
      case "millis":
        return lasted(value);
      case "time":
        return time(value);
      case "count":
        return delta ? change(value, count) : count(value);
      default:
        return String(value);
    }
  }
  if (typeof value === "boolean") return value ? texts.value.yes : texts.value.no;
  if (Array.isArray(value)) return column.kind === "series" ? texts.value.fleet.trend(value.map((size) => bytes(Number(size))).join(", ")) : value.map(String).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** A longer name is abridged as others are. */
const MAX_CLASS = 200;

/** Columns of methods, of which class and method matter more than the package. */
const METHODS = new Set(["method", "top"]);

/** A method whose package gives way where there is little room. */
function Method({ text }: { text: string }) {
  const way = shown(text);
  const head = way.split("(")[0]!;
  const at = head.lastIndexOf(".", head.lastIndexOf(".") - 1) + 1;
  return (
    <bdi class="foreign mono method-name">
      <span class="package">{way.slice(0, at)}</span>
      <span>{way.slice(at)}</span>
    </bdi>
  );
}

/** The name of a class: parts with dots between, the last with a capital, unlike a method's. */
const CLASS = /^[^\s.]+(?:\.[^\s.]+)*\.\p{Lu}[^\s.]*$/u;

/** A class whose package gives way where there is little room. */
function ClassName({ text }: { text: string }) {
  const name = shown(text);
  const at = name.lastIndexOf(".") + 1;
  return (
    <bdi class="foreign mono method-name">
      <span class="package">{name.slice(0, at)}</span>
      <span>{name.slice(at)}</span>
    </bdi>
  );
}

export function Cell({ column, row }: { column: Column; row: Row }) {
  const value = row[column.key];
  const text = cellText(column, row);
  if (column.kind === "percent" && typeof value === "number" && !column.key.endsWith("_delta")) {
    return (
      <>
        <Bar share={value} />
        <span class="number">{text}</span>
      </>
    );
  }
  if (isNumeric(column.kind) || typeof value === "number") {
    const bound = column.key === "retained" && row["retained_is_exact"] === false;
    const sign = column.key.endsWith("_delta") && typeof value === "number" ? (value > 0 ? " grew" : value < 0 ? " shrank" : "") : "";
    return (
      <span class={"number" + sign} title={column.kind === "bytes" && typeof value === "number" ? count(value) + "\u00a0B" : undefined}>
        {bound && <abbr title={texts.value.table.lowerBound}>≥ </abbr>}
        {text}
      </span>
    );
  }
  if (column.kind === "series" && Array.isArray(value)) return <Trend sizes={value.map(Number)} label={text} />;
  if (METHODS.has(column.key)) return <Method text={text} />;
  if (column.kind === "text" && text.length <= MAX_CLASS && CLASS.test(text)) return <ClassName text={text} />;
  return <Name text={text} mono={column.kind !== "bool"} />;
}

/** True for figures of one of two dumps, and for their difference. */
export const isSide = (column: Column): boolean => /_(?:a|b|delta)$/.test(column.key);

const WIDTHS: Record<Column["kind"], [least: number, share: number]> = {
  text: [150, 1],
  bytes: [92, 0],
  count: [96, 0],
  percent: [116, 0],
  object: [118, 0],
  class: [132, 0],
  bool: [72, 0],
  time: [172, 0],
  series: [124, 0],
  millis: [92, 0],
};

/** The columns of the grid in CSS, and the least width that they need. The first text has most room. */
export function columnWidths(columns: Column[], isSmall: boolean, chosen: Record<string, number> = {}): { css: string; least: number } {
  const main = columns.findIndex((column) => column.kind === "text");
  const textColumns = columns.filter((column) => column.kind === "text").length;
  let least = 40;
  const parts = columns.map((column, index) => {
    let [width, share] = WIDTHS[column.kind] ?? WIDTHS.text;
    // Beside other texts the first has no more room than they need.
    if (index === main) [width, share] = textColumns > 1 && columns.length < 4 ? [150, 1] : [220, 3];
    // At the side there is little room, and numbers matter less than the menu of the row.
    if (isSmall && share) [width, share] = [100, 1];
    if (isSmall && !share) width = Math.min(width, 84);
    // States are short, and beside them a method needs what room there is.
    if (/state$/.test(column.key) && !isSmall) [width, share] = [128, 0];
    else if (METHODS.has(column.key) && !isSmall) [width, share] = [190, 2];
    else if (index === main && columns.some((other) => METHODS.has(other.key)) && !isSmall) [width, share] = [150, 2];
    // There are many of them; their titles take two lines.
    if (isSide(column) && !isSmall) width = column.key.endsWith("_delta") ? 100 : 90;
    else if (!isSmall) width = Math.max(width, share ? 0 : 44 + 7.3 * columnLabel(column).length);
    const own = chosen[column.key];
    if (own !== undefined) [width, share] = [own, 0];
    least += width;
    return share ? `minmax(${width}px, ${share}fr)` : `${width}px`;
  });
  // Without a text column the last one takes the room.
  if (main < 0 && parts.length) parts[parts.length - 1] = `minmax(${parts[parts.length - 1]}, 1fr)`;
  return { css: parts.join(" ") + " 36px", least };
}
