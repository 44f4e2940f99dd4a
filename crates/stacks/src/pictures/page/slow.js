// Slow calls: a table of the timed methods, and the slowest calls, each as a strip of what its thread did. `slow_table.rs` has the
// rows.
const slowCalls = data.slow || null;
const STATE_NAMES = ["running", "waits_for_cpu", "waits_for_lock", "input_output", "waits", "sleeps", "native_waits", "vm", "collection", "not_running", "unknown"];
const stateWords = name => name === "not_running" ? "not running" : name === "unknown" ? "no sample" : STATES[STATE_NAMES.indexOf(name)][0];
const nanos = value => value < 1e3 ? value + " ns" : value < 1e6 ? (value / 1e3).toFixed(2) + " \u00b5s" : value < 1e9 ? (value / 1e6).toFixed(2) + " ms" : (value / 1e9).toFixed(3) + " s";
// Times of calls are since 1970-01-01 UTC, also in pages without times of samples.
const clockOf = began => { const date = new Date(began / 1e6), utc = state.zone === "utc", text = utc ? date.toISOString().slice(11, 23) : `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, "0")}`; return text; };
const strips = [];

function drawStrips() {
  for (const {canvas, call} of strips) {
    const wide = canvas.parentElement.clientWidth, dots = window.devicePixelRatio || 1;
    if (!wide) continue;
    canvas.width = Math.round(wide * dots);
    canvas.height = Math.round(14 * dots);
    const brush = canvas.getContext("2d"), scale = canvas.width / Math.max(1, call.wall_ns);
    brush.fillStyle = isDark() ? "#22262b" : "#f5f7f9";
    brush.fillRect(0, 0, canvas.width, canvas.height);
    for (const {from_ns, to_ns, state} of call.strip.segments) {
      const kind = STATE_NAMES.indexOf(state);
      if (kind >= STATES.length) continue;
      brush.fillStyle = stateColour(kind);
      brush.fillRect(from_ns * scale, 0, Math.max(1, (to_ns - from_ns) * scale), canvas.height);
    }
  }
  const used = new Set(strips.flatMap(({call}) => call.strip.states.map(it => it.state)));
  byId("slow-legend").replaceChildren(...STATES.filter((_, kind) => used.has(STATE_NAMES[kind])).map(([words]) => {
    const swatch = make("i");
    swatch.style.background = stateColour(STATES.findIndex(it => it[0] === words));
    return make("span", null, swatch, words);
  }));
}

function stripOf(call) {
  const said = call.strip.states.map(it => `${stateWords(it.state)} ${nanos(it.wall_ns)}${it.method ? ` (${clean(it.method)})` : ""}`).join(", ");
  const canvas = make("canvas", {role: "img", "aria-label": said, class: "strip"});
  canvas.addEventListener("pointermove", event => {
    if (event.pointerType === "touch") return;
    const place = canvas.getBoundingClientRect(), at = (event.clientX - place.left) / Math.max(1, place.width) * call.wall_ns;
    const part = call.strip.segments.find(it => it.from_ns <= at && at < it.to_ns);
    if (part) tipAt(event, stateWords(part.state), `${nanos(part.to_ns - part.from_ns)}, from ${nanos(part.from_ns)} after the call began`);
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  strips.push({canvas, call});
  return [make("div", {class: "strip-box"}, canvas), make("div", {class: "strip-said"}, said)];
}

function callsOf(row) {
  const showTime = call => {
    const from = call.began_ns / 1e3 - times.from, span = clip(Math.floor(from / CELL) * CELL, Math.ceil((from + call.wall_ns / 1e3) / CELL) * CELL);
    return span ? make("button", {type: "button", title: "Show the flame graph of this time", onclick: () => change({time: toText(span)})}, "Show this time") : [];
  };
  return make("ol", {class: "calls"}, row.slowest.map(call => make("li", null,
    make("div", {class: "call"}, make("b", null, nanos(call.wall_ns)), ` CPU ${nanos(call.cpu_ns)}, began `, make("time", null, clockOf(call.began_ns)), ` in ${clean(call.thread)}${call.is_virtual ? " (virtual)" : ""} `, times ? showTime(call) : []),
    call.strip ? stripOf(call) : [],
    call.remarks.map(text => make("div", {class: "strip-said"}, clean(text))))));
}

// What the figures of a method leave out.
function slowRemarks(row) {
  const said = [];
  if (row.timed_one_in > 1) said.push(`called too often for each call to be timed: one in ${number(row.timed_one_in)} is, and the figures are estimates`);
  if (row.recursive_calls) said.push(`${number(row.recursive_calls)} more calls within calls of the same method in the same thread`);
  if (row.calls_not_timed) said.push(`${number(row.calls_not_timed)} calls were not timed`);
  if (row.spans_ended_elsewhere) said.push(`${number(row.spans_ended_elsewhere)} spans ended in another thread than they began in: their CPU time is not known`);
  if (row.running_calls) said.push(`${number(row.running_calls)} calls had not ended, the longest for ${nanos(row.longest_running_ns)}`);
  return said;
}

function tellSlow() {
  if (!slowCalls) return;
  byId("slow").hidden = false;
  strips.length = 0;
  const {methods} = slowCalls, names = methods.map(row => clean(`${row.class}.${row.name}`));
  const same = names.map(name => names.filter(it => it === name).length > 1), titles = names.map((name, at) => same[at] ? name + clean(methods[at].descriptor) : name);
  const head = ["Calls", "p50", "p90", "p99", "p99.9", "Max", "In all", "CPU", "Slow"];
  const slowest = row => row.slowest[0] ? [make("time", null, clockOf(row.slowest[0].began_ns)), " ", clean(row.slowest[0].thread)] : "";
  const slow = row => !row.threshold ? "\u2013" : row.threshold_ns ? `${number(row.slow_calls)} \u2265 ${nanos(row.threshold_ns)}` : `${number(row.slow_calls)}, too few calls for a percentile`;
  byId("slow-table").replaceChildren(methods.length ? make("table", null,
    make("thead", null, make("tr", null, head.map(title => make("th", {scope: "col"}, title)), make("th", {scope: "col", class: "name"}, "Slowest at, in thread"), make("th", {scope: "col", class: "name"}, "Method"))),
    make("tbody", null, methods.map((row, at) => make("tr", null,
      [number(row.calls), nanos(row.p50_ns), nanos(row.p90_ns), nanos(row.p99_ns), nanos(row.p99_9_ns), nanos(row.max_ns), nanos(row.wall_ns), nanos(row.cpu_ns), slow(row)].map((text, column) => make("td", {"data-of": head[column]}, text)),
      make("td", {class: "name at", "data-of": "Slowest"}, slowest(row)), make("td", {class: "name"}, titles[at]))))) : make("p", null, "No calls came."));
  const notes = methods.flatMap((row, at) => slowRemarks(row).map(text => `${titles[at]}: ${text}.`));
  for (const {pattern, why} of slowCalls.patterns) if (why) notes.push(`${clean(pattern)} has timed no call: ${clean(why)}.`);
  if (slowCalls.methods_left_out) notes.push(`${number(slowCalls.methods_left_out)} more methods are not on this page; hprof-rs slow FILE lists them.`);
  const hasCalls = methods.some(row => row.slowest.length);
  if (slowCalls.no_strips && hasCalls) notes.push(slowCalls.no_strips[0].toUpperCase() + slowCalls.no_strips.slice(1) + ".");
  else if (!slowCalls.is_wall && hasCalls) notes.push("Samples of CPU time do not say why calls wait; cpu=wall does.");
  byId("slow-notes").replaceChildren(...notes.map(text => make("p", null, text)));
  byId("slow-calls").replaceChildren(...methods.flatMap((row, at) => row.slowest.length ? [make("details", at === 0 && innerWidth > 640 ? {open: ""} : {}, make("summary", null, `Slowest calls of ${titles[at]}`), callsOf(row))] : []));
  byId("slow-calls").querySelectorAll("details").forEach(element => element.addEventListener("toggle", drawStrips));
  drawStrips();
}
byId("slow").addEventListener("toggle", drawStrips);
