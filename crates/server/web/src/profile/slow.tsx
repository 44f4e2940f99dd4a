// Calls of timed methods (`slow=`): how long they took, and the slowest ones, each as a strip of what its thread did.
import type { SlowCalls } from "../api/types";
import { count, shown } from "../format";
import { texts } from "../texts";

/** Nanoseconds with a unit. */
function nanos(n: number): string {
  if (n < 1e3) return n + "\u00a0ns";
  if (n < 1e6) return (n / 1e3).toFixed(2) + "\u00a0µs";
  return n < 1e9 ? (n / 1e6).toFixed(2) + "\u00a0ms" : (n / 1e9).toFixed(3) + "\u00a0s";
}

const clock = (at: number): string => {
  const date = new Date(at / 1e6);
  const two = (n: number) => String(n).padStart(2, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, "0")}`;
};

type Call = SlowCalls["methods"][number]["slowest"][number];

function Strip({ call }: { call: Call }) {
  const t = texts.value.slow;
  if (!call.strip) return null;
  const said = call.strip.states.map((it) => `${t.states[it.state] ?? it.state} ${nanos(it.wall_ns)}${it.method ? ` (${shown(it.method)})` : ""}`).join(", ");
  const whole = Math.max(1, call.wall_ns);
  return (
    <>
      <svg class="slow-strip" viewBox="0 0 1000 1" preserveAspectRatio="none" role="img" aria-label={said}>
        {call.strip.segments.map((part) => (
          <rect key={part.from_ns} class={"state-" + part.state} x={(1000 * part.from_ns) / whole} y="0" width={Math.max(1, (1000 * (part.to_ns - part.from_ns)) / whole)} height="1" />
        ))}
      </svg>
      <p class="dim">{said}</p>
    </>
  );
}

export function SlowView({ slow }: { slow: SlowCalls }) {
  const t = texts.value.slow;
  const nameOf = (row: SlowCalls["methods"][number]) => shown(`${row.class}.${row.name}`);
  const hasCalls = slow.methods.some((row) => row.slowest.length);
  const used = new Set(slow.methods.flatMap((row) => row.slowest.flatMap((call) => call.strip?.states.map((it) => it.state) ?? [])));
  const notes = [
    ...slow.methods.filter((row) => row.timed_one_in > 1).map((row) => t.estimate(nameOf(row), count(row.timed_one_in))),
    ...slow.patterns.flatMap((it) => (it.why ? [t.noCall(shown(it.pattern), shown(it.why))] : [])),
    ...(slow.methods_left_out ? [t.left(count(slow.methods_left_out))] : []),
    ...(!hasCalls ? [] : slow.no_strips ? [t.noStrips] : slow.is_wall ? [] : [t.onlyCpu]),
  ];
  return (
    <div class="slow-calls">
      {slow.methods.length === 0 && <p>{t.none}</p>}
      {slow.methods.length > 0 && (
        <div class="slow-scroll" tabIndex={0} role="region" aria-label={texts.value.profile.views["slow"]}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t.method}</th>
                {[t.calls, "p50", "p90", "p99", "p99.9", t.max, t.all, t.cpu, t.slow].map((title) => (
                  <th key={title} scope="col" class="numeric">
                    {title}
                  </th>
                ))}
                <th scope="col">{t.slowest}</th>
              </tr>
            </thead>
            <tbody>
              {slow.methods.map((row) => (
                <tr key={row.class + row.name + row.descriptor}>
                  <td class="foreign">{nameOf(row)}</td>
                  {[count(row.calls), nanos(row.p50_ns), nanos(row.p90_ns), nanos(row.p99_ns), nanos(row.p99_9_ns), nanos(row.max_ns), nanos(row.wall_ns), nanos(row.cpu_ns)].map((text, at) => (
                    <td key={at} class="numeric">
                      {text}
                    </td>
                  ))}
                  <td class="numeric">{!row.threshold ? "–" : row.threshold_ns ? `${count(row.slow_calls)} ≥ ${nanos(row.threshold_ns)}` : t.few(count(row.slow_calls))}</td>
                  <td>{row.slowest[0] ? `${clock(row.slowest[0].began_ns)} ${shown(row.slowest[0].thread)}` : ""}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {notes.map((note) => (
        <p key={note} class="dim">
          {note}
        </p>
      ))}
      {used.size > 0 && (
        <p class="slow-legend">
          {Object.keys(t.states)
            .filter((state) => used.has(state))
            .map((state) => (
              <span key={state} class={"key state-key-" + state}>
                {t.states[state]}
              </span>
            ))}
        </p>
      )}
      {slow.methods
        .filter((row) => row.slowest.length)
        .map((row, at) => (
          <details key={row.class + row.name + row.descriptor} open={at === 0}>
            <summary>{t.slowestOf(nameOf(row))}</summary>
            <ol>
              {row.slowest.map((call) => (
                <li key={call.began_ns + call.thread}>
                  <b>{nanos(call.wall_ns)}</b> {t.call(nanos(call.cpu_ns), clock(call.began_ns), shown(call.thread))}
                  {call.is_virtual ? ` (${t.virtual})` : ""}
                  <Strip call={call} />
                  {call.remarks.map((text) => (
                    <p key={text} class="dim">
                      {shown(text)}
                    </p>
                  ))}
                </li>
              ))}
            </ol>
          </details>
        ))}
    </div>
  );
}
