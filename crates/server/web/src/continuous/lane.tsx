// Values over time as bars, and the window that is chosen in them: by dragging, or by two sliders.
import { useRef, useState } from "preact/hooks";
import type { CostsOverTime } from "../api/types";
import { duration } from "../format";
import { amountOf } from "../pictures/flame-graph";
import { language, texts } from "../texts";

const HIGH = 100;

export interface Span {
  from: number;
  to: number;
}

export const moment = (millis: number): string => new Intl.DateTimeFormat(language.value, { dateStyle: "short", timeStyle: "medium" }).format(millis);

export function Lane({ costs, chosen, onPick }: { costs: CostsOverTime; chosen: Span | null; onPick: (span: Span | null) => void }) {
  const t = texts.value.continuous;
  const picture = useRef<SVGSVGElement>(null);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const { from: start, step, lanes } = costs;
  const width = Math.max(1, ...lanes.map((lane) => lane.values.length));
  const sums = Array.from({ length: width }, (_, at) => lanes.reduce((sum, lane) => sum + (lane.values[at] ?? 0), 0));
  const most = Math.max(1, ...sums);
  const amount = amountOf(costs.unit);
  const place = (millis: number) => Math.max(0, Math.min(width, Math.round((millis - start) / step)));
  const [first, last] = drag ? [Math.min(...drag), Math.max(...drag) + 1] : chosen ? [place(chosen.from), place(chosen.to)] : [0, width];
  const pick = (from: number, to: number) => {
    const [low, high] = [Math.max(0, Math.min(from, width - 1)), Math.min(width, to)];
    const end = Math.max(high, low + 1);
    onPick(low === 0 && end === width ? null : { from: start + low * step, to: start + end * step });
  };
  const barAt = (event: PointerEvent) => {
    const box = picture.current!.getBoundingClientRect();
    return Math.max(0, Math.min(width - 1, Math.floor(((event.clientX - box.left) / Math.max(1, box.width)) * width)));
  };
  const bars = sums.map((sum, at) => (sum > 0 ? `M${at + 0.08} ${HIGH}V${HIGH - (94 * sum) / most - 4}H${at + 0.92}V${HIGH}Z` : "")).join("");
  const shown = t.window(moment(start + first * step), moment(start + last * step));
  return (
    <section class="timeline" aria-label={t.lane}>
      <svg ref={picture} viewBox={`0 0 ${width} ${HIGH}`} preserveAspectRatio="none" role="img" aria-label={t.most(amount(most), duration(step / 1000))}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setDrag([barAt(event), barAt(event)]);
        }}
        onPointerMove={(event) => drag && setDrag([drag[0], barAt(event)])}
        onPointerUp={() => {
          if (drag) pick(Math.min(...drag), Math.max(...drag) + 1);
          setDrag(null);
        }}
        onPointerCancel={() => setDrag(null)}>
        <title>{t.laneHint}</title>
        <rect class="timeline-range" x={first} y="0" width={Math.max(0, last - first)} height={HIGH} />
        <path class="timeline-in" d={bars} />
      </svg>
      <div class="tools-line">
        <label>
          {t.from} <input type="range" min={0} max={width - 1} value={first} aria-valuetext={moment(start + first * step)} onInput={(event) => pick(Number(event.currentTarget.value), Math.max(last, Number(event.currentTarget.value) + 1))} />
        </label>
        <label>
          {t.to} <input type="range" min={1} max={width} value={last} aria-valuetext={moment(start + last * step)} onInput={(event) => pick(Math.min(first, Number(event.currentTarget.value) - 1), Number(event.currentTarget.value))} />
        </label>
        <button type="button" disabled={!chosen} onClick={() => onPick(null)}>
          {t.whole}
        </button>
        <span class="dim" role="status">
          {shown}
        </span>
      </div>
    </section>
  );
}
