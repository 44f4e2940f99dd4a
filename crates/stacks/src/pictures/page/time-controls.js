// What people do with time: drags, keys, buttons.
const clean = text => text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, "\u00b7");

// Which of the two windows drags and keys move.
let second = false;
const keyOf = () => second ? "against" : "time";

// The window follows the pointer: the flame graph at once, once a picture; the tables when it stands.
let before = null, asked = 0;
function preview(key, window) {
  const text = window ? toText(window) : "";
  if (state[key] === text) return;
  before = before || state;
  state = {...state, [key]: text};
  if (!asked) asked = requestAnimationFrame(() => { asked = 0; if (before) apply(before, true); });
}
function settle() {
  if (!before) return;
  const old = before;
  before = null;
  // The first window of a comparison is the one that is looked at.
  apply(old);
  remember();
}

// Starts and ends of windows: on cells, or on the round times that pixels can tell apart.
function snap(at) {
  const [from, to] = sight(), pixel = (to - from) / chart.width;
  const unit = STEPS.find(step => step >= pixel && step % CELL === 0) || Math.ceil(pixel / CELL) * CELL;
  return Math.round(at / unit) * unit;
}
// The cell of the heat map at a place, by its start and end.
function cellAt(x, y) {
  const [from, to] = sight(), unit = COLUMN * chart.columns, wide = chart.width * unit / (to - from);
  const start = from + Math.max(0, Math.min(Math.ceil((to - from) / unit) - 1, Math.floor(x / wide))) * unit;
  if (chart.columns > 1) return [start, start + unit];
  const row = Math.max(0, Math.min(ROWS - 1, Math.floor((HEAT - y) / HEAT * ROWS)));
  return [start + row * CELL, start + (row + 1) * CELL];
}
function spotAt(canvas, event) {
  const place = canvas.getBoundingClientRect(), x = event.clientX - place.left, y = event.clientY - place.top;
  if (canvas === heatCanvas) return cellAt(x, y);
  const at = snap(atOf(x));
  return [at, at];
}
for (const canvas of [lanesCanvas, heatCanvas, threadsCanvas]) {
  let drag = null;
  canvas.addEventListener("pointerdown", event => {
    if (event.button || !chart.lanes.length) return;
    canvas.setPointerCapture(event.pointerId);
    drag = {spot: spotAt(canvas, event), x: event.clientX, key: event.shiftKey && state.time ? "against" : keyOf(), moved: false};
    canvas.focus({preventScroll: true});
  });
  canvas.addEventListener("pointermove", event => {
    if (!drag) return;
    if (Math.abs(event.clientX - drag.x) > 2 || canvas === heatCanvas) drag.moved = true;
    if (!drag.moved) return;
    const spot = spotAt(canvas, event), [from, to] = [Math.min(drag.spot[0], spot[0]), Math.max(drag.spot[1], spot[1])];
    if (to > from) preview(drag.key, clip(from, to));
  });
  const end = event => {
    if (!drag) return;
    // A click takes the second that it is in, or the cell; in the lanes of threads the stretch.
    if (!drag.moved && event.type === "pointerup" && canvas === threadsCanvas) {
      const place = canvas.getBoundingClientRect(), found = stretchAt(event.clientX - place.left, event.clientY - place.top);
      if (found) chooseStretch(found.row, found.index);
    } else if (!drag.moved && event.type === "pointerup") {
      const [from, to] = canvas === heatCanvas ? drag.spot : [0, COLUMN].map(by => Math.floor(atOf(event.clientX - canvas.getBoundingClientRect().left) / COLUMN) * COLUMN + by);
      preview(drag.key, clip(from, to));
    }
    drag = null;
    settle();
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("keydown", event => { if (!event.ctrlKey && !event.metaKey && !event.altKey && (canvas === threadsCanvas && onThreads(event) || onTime(canvas, event))) { event.preventDefault(); event.stopPropagation(); } });
}

threadsCanvas.addEventListener("pointermove", event => {
  if (event.pointerType === "touch" || event.buttons) return;
  const place = threadsCanvas.getBoundingClientRect(), found = stretchAt(event.clientX - place.left, event.clientY - place.top);
  if (!found) { tip.hidden = true; return; }
  const [name, text] = stretchWords(found.lane, found.index);
  tipAt(event, name, text);
});
threadsCanvas.addEventListener("pointerleave", () => { tip.hidden = true; });
threadsCanvas.addEventListener("focus", () => { if (threadView.stretch < 0 && threadsCanvas.matches(":focus-visible") && shownLanes().length) chooseStretch(0, 0); });
byId("more-threads").onclick = () => {
  threadView.all = !threadView.all;
  if (threadView.lane >= shownLanes().length) { threadView.lane = 0; threadView.stretch = -1; tellStretch(); }
  tellThreads();
  redrawTime();
};
byId("thread-lanes").addEventListener("toggle", redrawTime);
function tellThreads() {
  const all = threadView.lanes.length, left = lanesOf.left_out, threads = threadView.lanes.reduce((sum, lane) => sum + lane.threads, 0) + left;
  byId("thread-title").textContent = `Threads over time: ${number(threads)} ${threads === 1 ? "thread" : "threads"}, busiest first`;
  byId("more-threads").hidden = all <= FIRST_LANES;
  byId("more-threads").setAttribute("aria-expanded", String(threadView.all));
  byId("more-threads").textContent = threadView.all ? `Show the first ${FIRST_LANES} lanes` : `Show all ${number(all)} lanes`;
  const limits = [];
  if (left) limits.push(`${number(left)} more threads have no lane here; they did least.`);
  if (lanesOf.cell) limits.push(`Stretches below ${long(lanesOf.cell)} are put together, each state with its time.`);
  byId("thread-limits").hidden = !limits.length;
  byId("thread-limits").textContent = limits.join(" ");
}

// Arrows move the window, with Shift its end; in the heat map up and down are a row.
let rests = 0;
function onTime(canvas, event) {
  const {key} = event, [from, to] = sight(), step = Math.max(CELL, snap((to - from) / 60));
  if (key === "Escape") {
    if (state.against) clearSecond(); else if (state.time) clearWindows(); else if (chart.shown) zoomTime(null); else return false;
    return true;
  }
  if (key === "+" || key === "=") { zoomTime(toWindow(state.time)); return true; }
  if (key === "-") { zoomTime(null); return true; }
  const by = {ArrowLeft: -step, ArrowRight: step, ...canvas === heatCanvas ? {ArrowUp: CELL, ArrowDown: -CELL} : {}}[key];
  const end = times.ticks * times.tick;
  let window = toWindow(state[keyOf()]);
  if (key === "Home" && window) window = [0, window[1] - window[0]];
  else if (key === "End" && window) window = [end - window[1] + window[0], end];
  else if (!by) return false;
  else if (!window) window = [snap(from), snap(from) + Math.max(COLUMN, step)];
  else if (event.shiftKey) window = [window[0], Math.max(window[0] + CELL, window[1] + by)];
  else {
    const moves = Math.max(-window[0], Math.min(end - window[1], by));
    window = [window[0] + moves, window[1] + moves];
  }
  preview(keyOf(), clip(...window));
  clearTimeout(rests);
  rests = setTimeout(settle, 250);
  return true;
}

const clearSecond = () => { second = false; change({against: ""}); };
const clearWindows = () => { second = false; change({time: "", against: ""}); };
// Shows a part of the time in whole seconds, or all.
function zoomTime(window) {
  chart.shown = window ? [Math.floor(window[0] / COLUMN) * COLUMN, Math.ceil(window[1] / COLUMN) * COLUMN] : null;
  tellTime();
  redrawTime();
}

byId("clear-time").onclick = clearWindows;
byId("zoom-time").onclick = () => zoomTime(chart.shown ? null : toWindow(state.time));
byId("swap").onclick = () => change({time: state.against, against: state.time});
byId("zone").onchange = () => change({zone: byId("zone").value});
byId("against").onchange = () => {
  const how = byId("against").value, window = toWindow(state.time);
  second = how === "second";
  if (how !== "second") { change({against: how}); return; }
  // The time before it, or after it, until another one is dragged.
  const [from, to] = window, length = to - from;
  const other = from > 0 ? clip(from - length, from) : clip(to, to + length);
  change({against: other ? toText(other) : ""});
};
// A scroll bar that comes makes the pictures narrower; nothing else says so.
new ResizeObserver(() => { if (chart.lanes.length && lanesCanvas.parentElement.clientWidth !== chart.width) redrawTime(); }).observe(lanesCanvas.parentElement);
byId("time").addEventListener("toggle", () => { redrawTime(); if (picture.look) redraw(true); });

// The line below the pictures: the window, and what is in it.
function tellTime() {
  if (!times) return;
  const window = toWindow(state.time), has = !!eventsOf(+state.view);
  byId("against").value = isRest() ? "rest" : state.against ? "second" : "";
  byId("zone").value = state.zone;
  byId("against").disabled = byId("clear-time").disabled = !window;
  byId("swap").hidden = !toWindow(state.against) || isRest();
  byId("zoom-time").disabled = !window && !chart.shown;
  byId("zoom-time").textContent = chart.shown ? "All time" : "Zoom to window";
  const whole = [times.first, times.to], line = byId("window");
  const said = !events.length && !wholeEvents.length ? "Reading times \u2026" : !has ? "This measure has no times; the flame graph is of all time."
    : part ? sentence() : "Drag over the pictures, or use the arrow keys, to see a part of the time; Shift-drag compares it with another part.";
  if (line.textContent !== said) line.textContent = said;
  byId("time-title").textContent = `Time: ${day(whole[0])}, ${clockSpan(whole.map(at => Math.round(at / 1e6) * 1e6))}`;
  const {change: found} = times;
  byId("found").hidden = !found;
  if (!found) return;
  const span = [found.from - times.from, found.to - times.from], digits = digitsOf(...span);
  if (!byId("found").firstChild) byId("found").append(document.createTextNode(""), make("button", {type: "button", onclick: () => change({time: toText(span), against: "rest"})}, "Show it"));
  byId("found").firstChild.textContent = `Between ${clock(span[0], digits)} and ${clock(span[1], digits)} ${clean(found.text)} `;
}

// The times are unpacked when the page stands: that of the measure in sight first.
async function startTime() {
  if (!times) return;
  byId("time").hidden = false;
  if (innerWidth <= 640) byId("time").open = !!state.time || !!times.change;
  tellTime();
  if (!globalThis.DecompressionStream) { byId("window").textContent = "This browser cannot unpack the times; a newer one shows them."; return; }
  const places = data.views.map((view, index) => index).filter(index => data.views[index].events || data.views[index].whole_events);
  places.sort((a, b) => (b === +state.view) - (a === +state.view) || a - b);
  for (const index of places) {
    const read = async packed => { const unpacked = new Events(await unpack(packed.data), packed); packed.data = ""; return unpacked; };
    try {
      const {events: packed, whole_events: whole} = data.views[index];
      if (packed) events[index] = await read(packed);
      if (whole) wholeEvents[index] = await read(whole);
    } catch { byId("window").textContent = "The times in this page are damaged."; return; }
    findLanes();
    if (index === +state.view) apply(null); else redrawTime();
  }
  if (lanesOf) {
    try { await readLanes(); } catch { byId("window").textContent = "The times of threads in this page are damaged."; return; }
    byId("thread-lanes").hidden = !threadView.lanes.length;
    tellThreads();
    tellStretch();
    redrawTime();
  }
  globalThis.hprofTimes = times.ticks;
}
