// The result of a query as bars: one column names them, one gives their length.
import { useState } from "preact/hooks";
import type { Column, Row } from "../api/types";
import { cellText } from "../grid/cells";
import { shown } from "../format";
import { Empty, Name } from "../parts/basics";
import { texts } from "../texts";

const MAX_BARS = 100;

export function Chart({ columns, rows }: { columns: Column[]; rows: Row[] }) {
  const t = texts.value.sql;
  const numbers = columns.filter((column) => rows.some((row) => typeof row[column.key] === "number"));
  const label = columns.find((column) => rows.some((row) => typeof row[column.key] === "string")) ?? columns.find((column) => !numbers.slice(1).includes(column));
  const [key, setKey] = useState<string | null>(null);
  const value = numbers.find((column) => column.key === key) ?? numbers.find((column) => column !== label);
  if (!label || !value) return <Empty>{t.noChart}</Empty>;
  const seen = rows.slice(0, MAX_BARS);
  const most = Math.max(1e-9, ...seen.map((row) => Math.abs(Number(row[value.key] ?? 0))));
  return (
    <div class="chart-part">
      {numbers.length > 1 && (
        <label>
          {t.chartValue}{" "}
          <select value={value.key} onChange={(event) => setKey(event.currentTarget.value)}>
            {numbers.map((column) => (
              <option key={column.key} value={column.key}>
                {shown(column.label)}
              </option>
            ))}
          </select>
        </label>
      )}
      <div class="chart-scroll" tabIndex={0} role="group" aria-label={t.asChart}>
        <ul class="chart">
          {seen.map((row, index) => (
            <li key={index}>
              <span class="chart-name">
                <Name text={cellText(label, row)} />
              </span>
              <span class="chart-bar" aria-hidden="true">
                <i style={{ width: `${(100 * Math.abs(Number(row[value.key] ?? 0))) / most}%` }} />
              </span>
              <span class="number">{cellText(value, row)}</span>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}
