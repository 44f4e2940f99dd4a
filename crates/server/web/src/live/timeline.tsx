// Samples over time, as bars. What one looks at begins where one clicks, and ends now.
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { useGet } from "../api/client";
import type { TimelineAnswer } from "../api/types";
import { count, duration } from "../format";
import { texts } from "../texts";

const RANGES = [10, 30, 60, 300, 900, 3600];
/** Bars of the picture; more would be narrower than a pixel on a phone. */
const MAX_BARS = 240;
/** A recording of a few seconds has bars as thin as later. */
const MIN_BARS = 40;
const HIGH = 100;

interface Bars {
  values: number[];
  /** Seconds of a bar. */
  each: number;
}

function barsOf({ buckets, seconds_per_bucket: seconds }: TimelineAnswer): Bars {
  const first = buckets[0]?.at ?? 0;
  const step = Math.max(0.001, seconds);
  const places = buckets.map((bucket) => Math.round((bucket.at - first) / 1000 / step));
  const length = Math.max(1, ...places.slice(-1).map((place) => place + 1));
  const joined = Math.ceil(length / MAX_BARS);
  const values = new Array<number>(Math.ceil(length / joined)).fill(0);
  buckets.forEach((bucket, index) => {
    const at = Math.floor(places[index]! / joined);
    if (at >= 0 && at < values.length) values[at]! += bucket.samples;
  });
  return { values, each: step * joined };
}

interface Props {
  id: string;
  tick: string;
  /** Seconds that are shown, or null for all. */
  last: number | null;
  onPick: (last: number | null) => void;
  children?: ComponentChildren;
}

export function Timeline({ id, tick, last, onPick, children }: Props) {
  const t = texts.value.live;
  const { value } = useGet<TimelineAnswer>(`jvms/${encodeURIComponent(id)}/timeline`, tick);
  const picture = useRef<SVGSVGElement>(null);
  const { values, each } = value ? barsOf(value) : { values: [0], each: 1 };
  const all = values.length * each;
  const most = Math.max(1, ...values);
  const before = Math.max(0, MIN_BARS - values.length);
  const width = before + values.length;
  const from = last === null ? before : Math.max(before, width - last / each);
  const pick = (seconds: number) => onPick(seconds >= all ? null : Math.max(1, Math.round(seconds)));
  const now = Math.min(last ?? all, all);
  const text = last === null ? t.whole : t.lastSeconds(duration(last));
  const bars = (isIn: boolean) => values.map((amount, at) => (amount > 0 && before + at + 1 > from === isIn ? `M${before + at + 0.08} ${HIGH}V${HIGH - (94 * amount) / most - 4}H${before + at + 0.92}V${HIGH}Z` : "")).join("");
  const onPointer = (event: PointerEvent) => {
    if (event.type === "pointermove" && !(event.buttons & 1)) return;
    const place = picture.current!.getBoundingClientRect();
    pick(width * each * (1 - Math.max(0, Math.min(1, (event.clientX - place.left) / Math.max(1, place.width)))));
  };
  const onKey = (event: KeyboardEvent) => {
    const step = Math.max(1, Math.round(all / 20));
    const to = { ArrowLeft: now + step, ArrowDown: now + step, ArrowRight: now - step, ArrowUp: now - step, PageUp: now - 5 * step, PageDown: now + 5 * step, Home: all, End: step }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    pick(Math.max(step, to));
  };
  const ranges = RANGES.filter((seconds) => seconds < all || seconds === last);
  if (last !== null && !ranges.includes(last)) ranges.push(last);
  return (
    <section class="timeline" aria-label={t.timeline}>
      <svg ref={picture} viewBox={`0 0 ${width} ${HIGH}`} preserveAspectRatio="none" tabindex={0} role="slider" aria-label={t.rangeFrom} aria-valuemin={1} aria-valuemax={Math.max(1, Math.round(all))} aria-valuenow={Math.max(1, Math.round(now))} aria-valuetext={text}
        onPointerDown={onPointer} onPointerMove={onPointer} onKeyDown={onKey}>
        <title>{t.rangeHint}</title>
        <rect class="timeline-range" x={from} y="0" width={width - from} height={HIGH} />
        <path class="timeline-out" d={bars(false)} />
        <path class="timeline-in" d={bars(true)} />
      </svg>
      <div class="tools-line">
        <label>
          {t.range}{" "}
          <select value={last === null ? "" : String(last)} onChange={(event) => onPick(event.currentTarget.value ? Number(event.currentTarget.value) : null)}>
            <option value="">{t.whole}</option>
            {ranges.sort((a, b) => a - b).map((seconds) => (
              <option key={seconds} value={String(seconds)}>
                {t.lastSeconds(duration(seconds))}
              </option>
            ))}
          </select>
        </label>
        {children}
        <span class="hidden-text">{t.most(count(most), duration(each))}</span>
      </div>
    </section>
  );
}
