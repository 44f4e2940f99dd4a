// Lanes of threads: what each one did when. A column of a lane has the share of each state, so a lane is right at any zoom; one of
// several threads has how many were in each state. `times/thread_lanes.rs` packs the stretches.
const lanesOf = times && times.threads || null;
const threadsCanvas = byId("threads");
// In the order of `states.rs`: words, hue, saturation, lightness in light and in dark.
const STATES = [["running", 135, 48, 45, 48], ["waiting for a CPU", 48, 88, 52, 52], ["waiting for a lock", 2, 68, 52, 56], ["input or output", 212, 72, 50, 58], ["waiting or parked", 215, 12, 82, 34], ["sleeping", 265, 32, 82, 42], ["native code that waits", 175, 26, 70, 36], ["waiting in the VM", 318, 50, 52, 56], ["stopped by a collection", 24, 78, 50, 54]];
const stateColour = state => { const [, hue, rich, light, dark] = STATES[state] || [0, 0, 0, 70, 40]; return `hsl(${hue} ${rich}% ${isDark() ? dark : light}%)`; };
const ROW_HIGH = 34, BAR_TOP = 16, BAR_HIGH = 13, FIRST_LANES = 8;
const threadView = {lanes: [], all: false, lane: 0, stretch: -1};

// Unpacks the stretches of each lane: start, end and number of the reason.
async function readLanes() {
  if (!lanesOf || threadView.lanes.length) return;
  const bytes = await unpack(lanesOf.data);
  lanesOf.data = "";
  let at = 0;
  const next = () => {
    let byte = bytes[at++], value = byte & 0x7f;
    for (let by = 128; byte >= 0x80; by *= 128) { byte = bytes[at++]; value += (byte & 0x7f) * by; }
    return value;
  };
  threadView.lanes = lanesOf.lanes.map(([name, threads, size]) => {
    const lane = {name: clean(name), threads, from: new Float64Array(size), to: new Float64Array(size), reason: new Uint32Array(size), most: 1, longest: 0};
    let from = 0;
    for (let index = 0; index < size; index++) {
      const delta = next();
      from += delta % 2 ? -(delta + 1) / 2 : delta / 2;
      lane.from[index] = from;
      lane.to[index] = from + next();
      lane.longest = Math.max(lane.longest, lane.to[index] - from);
      lane.reason[index] = next();
    }
    return lane;
  });
}
const stateOf = (lane, index) => lanesOf.reasons[lane.reason[index]][0];
const shownLanes = () => threadView.all ? threadView.lanes : threadView.lanes.slice(0, FIRST_LANES);

// The first stretch that may reach to a time: starts ascend, and none is longer than the longest.
function firstAt(lane, at) {
  let low = 0, high = lane.from.length;
  while (low < high) { const middle = (low + high) >> 1; if (lane.from[middle] < at - lane.longest) low = middle + 1; else high = middle; }
  return low;
}
// The time of each state in a part of the time.
function sumsOf(lane, from, to) {
  const sums = new Float64Array(STATES.length + 2);
  for (let index = firstAt(lane, from); index < lane.from.length && lane.from[index] < to; index++) {
    const time = Math.min(to, lane.to[index]) - Math.max(from, lane.from[index]);
    if (time > 0) sums[stateOf(lane, index)] += time;
  }
  return sums;
}

function drawThreads() {
  const lanes = shownLanes(), high = Math.max(1, lanes.length) * ROW_HIGH;
  const brush = canvasOf(threadsCanvas, chart.width, high), dark = isDark(), [from, to] = sight();
  const ink = dark ? "#e3e6ea" : "#1f2328", dim = dark ? "#a0a8b2" : "#59636e", columns = Math.max(1, Math.floor(chart.width)), unit = (to - from) / columns;
  const window = toWindow(state.time) || [Math.max(from, times.first), Math.min(to, times.to)], states = STATES.length + 2;
  const used = new Set();
  lanes.forEach((lane, row) => {
    const y = row * ROW_HIGH, shares = new Float64Array(columns * states);
    for (let index = firstAt(lane, from); index < lane.from.length && lane.from[index] < to; index++) {
      const begin = Math.max(from, lane.from[index]), end = Math.min(to, lane.to[index]), kind = stateOf(lane, index);
      if (end <= begin) continue;
      used.add(kind);
      const last = Math.min(columns - 1, Math.floor((end - from) / unit));
      for (let column = Math.floor((begin - from) / unit); column <= last; column++) {
        const left = from + column * unit;
        shares[column * states + kind] += (Math.min(end, left + unit) - Math.max(begin, left)) / unit;
      }
    }
    let most = 1;
    if (lane.threads !== 1) for (let column = 0; column < columns; column++) {
      let sum = 0;
      for (let kind = 0; kind < states; kind++) sum += shares[column * states + kind];
      most = Math.max(most, sum);
    }
    lane.most = most;
    brush.fillStyle = dark ? "#22262b" : "#f5f7f9";
    brush.fillRect(0, y + BAR_TOP, chart.width, BAR_HIGH);
    for (let kind = 0; kind < STATES.length; kind++) {
      if (!used.has(kind)) continue;
      brush.fillStyle = stateColour(kind);
      for (let column = 0; column < columns; column++) {
        const part = shares[column * states + kind];
        if (!(part > 0)) continue;
        let below = 0;
        for (let other = 0; other < kind; other++) below += shares[column * states + other];
        const low = Math.min(1, below / most) * BAR_HIGH, tall = Math.min(BAR_HIGH - low, part / most * BAR_HIGH);
        if (tall > 0) brush.fillRect(column, y + BAR_TOP + BAR_HIGH - low - tall, 1.4, tall);
      }
    }
    // Of several threads, the shares are those of all that was seen of them.
    const sums = sumsOf(lane, ...window), length = lane.threads !== 1 ? sums.reduce((a, b) => a + b, 0) : window[1] - window[0];
    const parts = [...sums.slice(0, STATES.length)].map((time, kind) => [time / length, kind]).filter(([part]) => part >= 0.005).sort((a, b) => b[0] - a[0]).slice(0, innerWidth <= 640 ? 2 : 4);
    brush.fillStyle = ink;
    const name = lane.threads !== 1 ? `${lane.name} (${[lane.threads ? `${number(lane.threads)} threads` : "", most > 1 ? `up to ${+most.toFixed(1)} at once` : ""].filter(it => it).join(", ") || "any number"})` : lane.name;
    const fits = fitText(brush, name, chart.width * 0.55);
    brush.fillText(fits, 2, y + 8);
    brush.fillStyle = dim;
    brush.fillText(fitText(brush, parts.map(([part, kind]) => `${STATES[kind][0]} ${Math.round(100 * part)} %`).join(", "), chart.width * 0.45 - 16), 2 + brush.measureText(fits).width + 10, y + 8);
  });
  const key = [...used].sort((a, b) => a - b).filter(kind => STATES[kind]);
  byId("thread-legend").replaceChildren(...key.map(kind => { const swatch = make("i"); swatch.style.background = stateColour(kind); return make("span", null, swatch, STATES[kind][0]); }),
    make("span", null, {cpu: "empty: it did not run", wall: "empty: no sample", recording: "empty: nothing recorded, such as waits below the thresholds of the recording"}[lanesOf.source]));
}
function fitText(brush, text, room) {
  if (brush.measureText(text).width <= room) return text;
  let low = 0, high = text.length;
  while (low < high) { const middle = (low + high + 1) >> 1; if (brush.measureText(text.slice(0, middle) + "\u2026").width <= room) low = middle; else high = middle - 1; }
  return text.slice(0, low) + "\u2026";
}

const long = micros => micros >= 1e6 ? +(micros / 1e6).toFixed(3) + " s" : micros >= 1e3 ? +(micros / 1e3).toFixed(2) + " ms" : Math.round(micros) + " \u00b5s";
const millis = at => clock(at, 3);
// What a stretch says: thread, and a sentence.
function stretchWords(lane, index) {
  const [kind, method, of, owner] = lanesOf.reasons[lane.reason[index]], text = at => clean(lanesOf.texts[at] || "");
  const parts = [`${(STATES[kind] || ["no sample"])[0]} from ${millis(lane.from[index])} to ${millis(lane.to[index])} (${long(lane.to[index] - lane.from[index])})`];
  if (of) parts.push(kind === 3 ? `of ${text(of)}` : `${kind === 2 ? "lock" : "on"} ${text(of)}`);
  if (owner) parts.push(`${text(owner)} had it`);
  if (method) parts.push(`in ${text(method)}`);
  return [lane.threads > 1 ? `${lane.name}, one of ${number(lane.threads)}` : lane.threads ? lane.name : `one of ${lane.name}`, parts.join("; ")];
}
// The stretch that has most of the pixels around a place.
function stretchAt(x, y) {
  const row = Math.floor(y / ROW_HIGH), lane = shownLanes()[row];
  if (!lane) return null;
  const reach = (atOf(chart.width) - atOf(0)) / chart.width * 1.5, at = atOf(x);
  let best = -1, most = 0;
  for (let index = firstAt(lane, at - reach); index < lane.from.length && lane.from[index] < at + reach; index++) {
    const time = Math.min(at + reach, lane.to[index]) - Math.max(at - reach, lane.from[index]);
    if (time > most) { most = time; best = index; }
  }
  return best < 0 ? null : {row, lane, index: best};
}
function tellStretch() {
  const lane = shownLanes()[threadView.lane], line = byId("thread-said");
  if (!lane || threadView.stretch < 0) {
    line.replaceChildren("Point at a lane, or use the arrow keys, for thread, state, time and method.");
    return;
  }
  const [name, text] = stretchWords(lane, threadView.stretch), {from, to} = lane;
  line.replaceChildren(make("b", null, name), ` \u2014 ${text} `, make("button", {type: "button", title: "Show the flame graph of this time (Enter)", onclick: () => timeOfStretch(from[threadView.stretch], to[threadView.stretch])}, "Show this time"));
}
function timeOfStretch(from, to) {
  // Windows are whole cells.
  change({time: toText(clip(Math.floor(from / CELL) * CELL, Math.max(Math.ceil(to / CELL), Math.floor(from / CELL) + 1) * CELL))});
}
function chooseStretch(row, index) {
  threadView.lane = row;
  threadView.stretch = index;
  tellStretch();
  drawOver();
}
// The chosen stretch has a frame.
function drawChosen(brush) {
  const lane = shownLanes()[threadView.lane];
  if (!lane || threadView.stretch < 0 || threadView.stretch >= lane.from.length) return;
  const x = xOf(lane.from[threadView.stretch]), wide = Math.max(3, xOf(lane.to[threadView.stretch]) - x);
  brush.strokeStyle = isDark() ? "#e3e6ea" : "#1f2328";
  brush.lineWidth = 1.5;
  brush.strokeRect(x - 0.5, threadView.lane * ROW_HIGH + BAR_TOP - 1.5, wide + 1, BAR_HIGH + 3);
}

// Up and down go from lane to lane, left and right from stretch to stretch; Enter shows its time.
function onThreads(event) {
  const {key} = event, lanes = shownLanes(), lane = lanes[threadView.lane];
  if (!lane) return false;
  const at = threadView.stretch, size = lane.from.length;
  if (key === "ArrowUp" || key === "ArrowDown") {
    const row = Math.max(0, Math.min(lanes.length - 1, threadView.lane + (key === "ArrowUp" ? -1 : 1)));
    const time = at < 0 ? sight()[0] : lane.from[at], next = lanes[row];
    let index = firstAt(next, time);
    while (index < next.from.length - 1 && next.to[index] <= time) index++;
    chooseStretch(at < 0 ? threadView.lane : row, at < 0 ? 0 : index);
  } else if (key === "ArrowLeft" || key === "ArrowRight") chooseStretch(threadView.lane, Math.max(0, Math.min(size - 1, at + (key === "ArrowLeft" ? -1 : 1))));
  else if (key === "Home") chooseStretch(threadView.lane, 0);
  else if (key === "End") chooseStretch(threadView.lane, size - 1);
  else if (key === "Enter" && at >= 0) timeOfStretch(lane.from[at], lane.to[at]);
  else return false;
  return true;
}
// For scripts and tests: the stretches of the lane of a name.
globalThis.hprofThread = name => {
  const lane = threadView.lanes.find(it => it.name === name);
  return lane ? Array.from(lane.from, (from, index) => {
    const [state, method, of, owner] = lanesOf.reasons[lane.reason[index]];
    return {from, to: lane.to[index], state: (STATES[state] || ["no sample"])[0], method: lanesOf.texts[method], of: lanesOf.texts[of], owner: lanesOf.texts[owner]};
  }) : null;
};
