// The heap of a garbage collection log over time, and its longest pauses.
import type { GcReport } from "./api/types";
import { bytes, duration } from "./format";
import { Name } from "./parts/basics";
import { millis, Rows, Section } from "./logs";
import { texts } from "./texts";

type Log = GcReport["logs"][0];
type Bucket = NonNullable<Log["timeline"]>["buckets"][0];

const WIDTH = 1000;
const HEIGHT = 160;
/** Rows of the table of pauses. */
const LONGEST = 10;

/** The classes of lines, the fields that they show, and their words. */
const LINES: [name: string, field: "capacity" | "used_before" | "used_after", word: "heapSize" | "heapBefore" | "heapAfter"][] = [
  ["size", "capacity", "heapSize"],
  ["before", "used_before", "heapBefore"],
  ["after", "used_after", "heapAfter"],
];

const at = (time: number) => duration(time / 1000);

/** Heap before and after collections, and its size; nothing if the log does not have them. */
export function HeapOverTime({ log }: { log: Log }) {
  const t = texts.value.logs;
  const timeline = log.timeline;
  if (!timeline) return null;
  const { buckets } = timeline;
  const value = (bucket: Bucket, field: (typeof LINES)[0][1]) => bucket[field] ?? null;
  const most = Math.max(0, ...buckets.flatMap((bucket) => LINES.map(([, field]) => value(bucket, field) ?? 0)));
  if (most === 0) return null;
  const points = (field: (typeof LINES)[0][1]) =>
    buckets
      .map((bucket, index) => [index, value(bucket, field)] as const)
      .filter(([, size]) => size !== null)
      .map(([index, size]) => `${(((index + 0.5) * WIDTH) / buckets.length).toFixed(1)},${(HEIGHT - 2 - ((HEIGHT - 4) * size!) / most).toFixed(1)}`);
  const lines = LINES.map(([name, field, word]) => ({ name, word, points: points(field) })).filter((line) => line.points.length > 0);
  const last = buckets.map((bucket) => value(bucket, "used_after")).filter((size) => size !== null);
  const ends = last.length ? t.heapEnds(bytes(last[0]!), bytes(last[last.length - 1]!)) : "";
  return (
    <Section title={t.heapOverTime}>
      <svg class="log-heap" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`${t.heapOverTime}: ${bytes(most)}. ${ends}`}>
        {lines.map((line) => (
          <polyline key={line.name} class={"heap-" + line.name} points={line.points.join(" ")} />
        ))}
      </svg>
      <p class="legend">
        {lines.map((line) => (
          <span key={line.name} class={"key heap-key-" + line.name}>
            {t[line.word]}
          </span>
        ))}
      </p>
      <p class="dim">
        {t.heapScale(bytes(most), at(timeline.from_ms), at(timeline.from_ms + buckets.length * timeline.width_ms))} {ends}
      </p>
    </Section>
  );
}

/** The longest pauses, one by one. */
export function LongestPauses({ log }: { log: Log }) {
  const t = texts.value.logs;
  const worst = (log.worst ?? []).slice(0, LONGEST);
  if (!worst.length) return null;
  const size = (value: number | null | undefined) => (value === null || value === undefined ? "–" : bytes(value));
  return (
    <Section title={t.longestPauses}>
      <Rows
        numbers={[0, 1, 4, 5]}
        titles={[t.pause, t.at, t.kind, t.cause, t.heapBefore, t.heapAfter]}
        rows={worst.map((pause) => [
          millis(pause.pause_ms),
          pause.at_ms === null ? "–" : at(pause.at_ms),
          <Name text={pause.kind} mono={false} />,
          <Name text={pause.cause} mono={false} />,
          size(pause.heap?.before),
          size(pause.heap?.after),
        ])}
      />
    </Section>
  );
}
