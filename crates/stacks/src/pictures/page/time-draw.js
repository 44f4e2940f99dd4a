// The pictures of time: lanes of what was used, and below them a heat map of seconds and their fractions. Both are drawn once
// onto canvases that are out of sight; windows are drawn over copies of these.
const lanesCanvas = byId("lanes"), heatCanvas = byId("heat");
const chart = {lanes: [], shown: null, width: 0, backs: new Map(), live: null, columns: 1};
const LANE = 26, MAIN = 44, AXIS = 18, HEAT = 152, MARKS = 14;
// What is in sight, in microseconds since the first tick: whole seconds.
const sight = () => chart.shown || [0, Math.max(1, Math.ceil(CELLS * CELL / COLUMN)) * COLUMN];
const xOf = at => { const [from, to] = sight(); return (at - from) / (to - from) * chart.width; };
const atOf = x => { const [from, to] = sight(); return from + Math.max(0, Math.min(1, x / chart.width)) * (to - from); };

// One lane for each measure, those of groups of threads below the first.
function findLanes() {
  const lanes = [];
  let measures = 0;
  data.views.forEach((view, index) => {
    const packed = eventsOf(index);
    if (!packed) return;
    lanes.push({title: view.title, high: MAIN, cells: packed.all, packed, hue: LANES[measures++ % LANES.length], scale: null});
    const groups = times.groups.map((name, group) => ({name, cells: packed.cells[group]})).filter(it => it.cells);
    if (measures > 1 || groups.length < 2) return;
    const scale = {};
    const hue = LANES[0];
    lanes.push(...groups.map(({name, cells}) => ({title: clean(name), high: LANE, cells, packed, hue, scale})));
  });
  if (times.pauses.length) lanes.push({title: "Pauses of collections", high: MARKS + 10, pauses: times.pauses});
  if (times.safepoints.length) lanes.push({title: "Safepoints: all threads stopped", high: MARKS + 10, pauses: times.safepoints});
  chart.lanes = lanes;
}
const LANES = [24, 206, 140, 280, 338, 62];

function canvasOf(canvas, wide, high) {
  const dots = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(wide * dots));
  canvas.height = Math.max(1, Math.round(high * dots));
  canvas.style.height = high + "px";
  let back = chart.backs.get(canvas);
  if (!back) chart.backs.set(canvas, back = document.createElement("canvas"));
  back.width = canvas.width;
  back.height = canvas.height;
  const brush = back.getContext("2d");
  brush.setTransform(dots, 0, 0, dots, 0, 0);
  brush.font = "11px system-ui, sans-serif";
  brush.textBaseline = "middle";
  return brush;
}

// Cells in sight, by columns of the picture: what was used by the second.
function ratesOf({cells, packed}) {
  const [from, to] = sight(), first = Math.round(from / CELL), last = Math.round(to / CELL);
  const columns = Math.max(1, Math.min(Math.floor(chart.width), last - first)), rates = new Float64Array(columns), by = (last - first) / columns;
  for (let column = 0; column < columns; column++) {
    const begin = first + Math.floor(column * by), end = Math.max(begin + 1, first + Math.floor((column + 1) * by));
    let sum = 0;
    for (let cell = begin; cell < end; cell++) sum += cells[cell] || 0;
    rates[column] = sum * packed.factor * 1e6 / ((end - begin) * CELL);
  }
  return smoothed(rates, by);
}
// Samples that are further apart than columns would be a comb: then a column has the mean of its neighbourhood.
function smoothed(rates, by) {
  const wide = Math.round(SMOOTH / (by * CELL));
  if (wide < 2) return rates;
  const means = new Float64Array(rates.length), half = wide >> 1;
  let sum = 0, count = 0;
  for (let at = -half; at < rates.length; at++) {
    if (at + half < rates.length) { sum += rates[at + half]; count++; }
    if (at - half - 1 >= 0) { sum -= rates[at - half - 1]; count--; }
    if (at >= 0) means[at] = sum / count;
  }
  return means;
}
const SMOOTH = 200000;

function drawLanes() {
  const high = chart.lanes.reduce((sum, lane) => sum + lane.high, AXIS);
  const brush = canvasOf(lanesCanvas, chart.width, high), dark = isDark();
  const ink = dark ? "#e3e6ea" : "#1f2328", soft = dark ? "#3a4048" : "#d5dae0";
  const rates = chart.lanes.map(lane => lane.cells ? ratesOf(lane) : null);
  rates.forEach((values, index) => {
    const {scale} = chart.lanes[index], most = values ? values.reduce((a, b) => Math.max(a, b), 0) : 0;
    chart.lanes[index].most = most;
    if (scale) scale.most = index > 0 && chart.lanes[index - 1].scale === scale ? Math.max(scale.most, most) : most;
  });
  let y = 0;
  chart.lanes.forEach((lane, index) => {
    const floor = y + lane.high - 1;
    brush.fillStyle = soft;
    brush.fillRect(0, floor, chart.width, 1);
    if (lane.pauses) drawPauses(brush, lane, y);
    else {
      const most = lane.scale ? lane.scale.most : lane.most, values = rates[index], wide = chart.width / values.length, room = lane.high - 3;
      brush.fillStyle = dark ? `hsl(${lane.hue} 50% 45%)` : `hsl(${lane.hue} 75% 70%)`;
      if (most > 0) values.forEach((value, column) => { const tall = value / most * room; if (tall > 0) brush.fillRect(column * wide, floor - tall, wide + 0.3, tall); });
    }
    const text = lane.pauses ? `${lane.title}, longest ${+(lane.longest / 1000).toFixed(1)} ms` : `${lane.title}, up to ${rateText(lane.most, lane.packed.rate)}`;
    write(brush, text, 4, y + 9, ink);
    y += lane.high;
  });
  drawAxis(brush, y, ink, soft);
}

// Text on a soft ground, which lanes do not hide.
function write(brush, text, x, y, ink) {
  let fits = text;
  while (fits.length > 4 && brush.measureText(fits).width > chart.width - 12) fits = fits.slice(0, -2);
  if (fits !== text) fits = fits.slice(0, -1) + "\u2026";
  brush.globalAlpha = 0.78;
  brush.fillStyle = isDark() ? "#17191c" : "#ffffff";
  brush.fillRect(x - 2, y - 7, brush.measureText(fits).width + 4, 14);
  brush.globalAlpha = 1;
  brush.fillStyle = ink;
  brush.fillText(fits, x, y);
}

function drawPauses(brush, lane, y) {
  brush.fillStyle = isDark() ? "#f28b82" : "#c5221f";
  lane.longest = 0;
  const [from, to] = sight();
  for (const [at, length] of lane.pauses) {
    if (at + length < from || at > to) continue;
    lane.longest = Math.max(lane.longest, length);
    brush.fillRect(xOf(at), y + 2, Math.max(1.5, xOf(at + length) - xOf(at)), lane.high - 4);
  }
}

const STEPS = [20e3, 50e3, 100e3, 200e3, 500e3, 1e6, 2e6, 5e6, 10e6, 15e6, 30e6, 60e6, 120e6, 300e6, 600e6, 1800e6, 3600e6, 7200e6, 21600e6, 86400e6];
function drawAxis(brush, y, ink, soft) {
  const [from, to] = sight(), most = Math.max(2, chart.width / 84);
  const by = STEPS.find(step => (to - from) / step <= most) || Math.ceil((to - from) / most / 86400e6) * 86400e6;
  // Marks stand at whole hours and minutes of the clock that is shown.
  const offset = state.zone === "utc" ? 0 : -new Date((times.from + from) / 1000).getTimezoneOffset() * 60e6;
  const first = Math.ceil((times.from + from + offset) / by) * by - offset - times.from;
  for (let at = first; at < to; at += by) {
    const x = xOf(at);
    brush.fillStyle = soft;
    brush.fillRect(x, 0, 1, y + 4);
    brush.fillStyle = ink;
    const text = by < 1e6 ? clock(at, by < 1e5 ? 2 : 1) : clock(at), wide = brush.measureText(text).width;
    brush.fillText(text, Math.max(0, Math.min(chart.width - wide, x - wide / 2)), y + 11);
  }
}

function drawHeat() {
  const packed = eventsOf(+state.view), brush = canvasOf(heatCanvas, chart.width, HEAT), dark = isDark();
  brush.fillStyle = dark ? "#22262b" : "#f5f7f9";
  brush.fillRect(0, 0, chart.width, HEAT);
  if (!packed) return;
  const [from, to] = sight(), first = Math.round(from / COLUMN), last = Math.round(to / COLUMN);
  // Seconds that would be narrower than two pixels share a column.
  const joined = chart.columns = Math.max(1, Math.ceil((last - first) * 2 / chart.width)), columns = Math.ceil((last - first) / joined);
  const values = new Float64Array(columns * ROWS);
  for (let second = first; second < last; second++) {
    const column = Math.floor((second - first) / joined) * ROWS, begin = second * ROWS, end = Math.min(CELLS, begin + ROWS);
    for (let cell = begin; cell < end; cell++) values[column + cell - begin] += packed.all[cell];
  }
  let most = 0;
  for (const value of values) if (value > most) most = value;
  const wide = chart.width / ((last - first) / joined), high = HEAT / ROWS;
  for (let shade = 1; shade <= SHADES; shade++) {
    brush.fillStyle = dark ? `hsl(${34 - shade} ${45 + shade * 3}% ${16 + shade * 3.8}%)` : `hsl(${40 - shade * 2} 92% ${93 - shade * 3.9}%)`;
    for (let column = 0; column < columns; column++) for (let row = 0; row < ROWS; row++) {
      const value = values[column * ROWS + row];
      if (value > 0 && Math.ceil(Math.sqrt(value / most) * SHADES) === shade) brush.fillRect(column * wide, HEAT - (row + 1) * high, wide + 0.3, high + 0.3);
    }
  }
  const unit = joined * COLUMN / 1e6;
  write(brush, `${view.title}: a column is ${+unit.toFixed(1)} s${ROWS > 1 ? ", upwards the fractions of a second" : ""}`, 4, 9, dark ? "#e3e6ea" : "#1f2328");
}
const SHADES = 14;

// Copies a picture into sight, with the windows over it.
function drawOver() {
  const windows = shownWindows();
  for (const canvas of timePictures()) {
    const brush = canvas.getContext("2d"), dots = window.devicePixelRatio || 1, high = canvas.height / dots;
    const back = chart.backs.get(canvas);
    if (!back) continue;
    brush.setTransform(1, 0, 0, 1, 0, 0);
    brush.clearRect(0, 0, canvas.width, canvas.height);
    brush.drawImage(back, 0, 0);
    brush.setTransform(dots, 0, 0, dots, 0, 0);
    if (canvas === threadsCanvas) drawChosen(brush);
    windows.forEach((window, index) => window && drawWindow(brush, canvas === heatCanvas ? heatBoxes(window) : [[xOf(window[0]), 0, xOf(window[1]) - xOf(window[0]), high]], index));
  }
}
const WINDOWS = [["#0b57d0", "#8ab4f8"], ["#8a1c7c", "#e39bd8"]];
function drawWindow(brush, boxes, index) {
  const ink = WINDOWS[index][isDark() ? 1 : 0];
  for (const [x, y, wide, high] of boxes) {
    brush.globalAlpha = 0.22;
    brush.fillStyle = ink;
    brush.fillRect(x, y, Math.max(1, wide), high);
    brush.globalAlpha = 1;
    brush.strokeStyle = ink;
    brush.lineWidth = 1.5;
    if (index) brush.setLineDash([5, 3]);
    brush.strokeRect(x + 0.75, y + 0.75, Math.max(1, wide - 1.5), Math.max(1, high - 1.5));
    brush.setLineDash([]);
  }
}
const shownWindows = () => [toWindow(state.time), isRest() ? null : toWindow(state.against)];

// The boxes of a window in the heat map: parts of its first and last column, and all between.
function heatBoxes([from, to]) {
  const [begin, end] = sight(), wide = chart.width * COLUMN * chart.columns / (end - begin), unit = COLUMN * chart.columns;
  const column = at => Math.floor((at - begin) / unit), rise = at => chart.columns > 1 ? 0 : ((at - begin) / unit - column(at)) * HEAT;
  const first = column(from), last = column(to), low = rise(from), high = chart.columns > 1 && to > begin + last * unit ? HEAT : rise(to);
  if (first === last) return [[first * wide, HEAT - high, wide, high - low]];
  const boxes = [];
  let whole = first;
  if (low > 0) boxes.push([whole++ * wide, 0, wide, HEAT - low]);
  if (last > whole) boxes.push([whole * wide, 0, (last - whole) * wide, HEAT]);
  if (high > 0) boxes.push([last * wide, HEAT - high, wide, high]);
  return boxes;
}

function redrawTime() {
  if (!times || byId("time").hidden || !byId("time").open) return;
  chart.width = lanesCanvas.parentElement.clientWidth;
  drawLanes();
  drawHeat();
  if (hasThreads()) drawThreads();
  drawOver();
}
const hasThreads = () => threadView.lanes.length > 0 && !byId("thread-lanes").hidden && byId("thread-lanes").open;
const timePictures = () => hasThreads() ? [lanesCanvas, heatCanvas, threadsCanvas] : [lanesCanvas, heatCanvas];
