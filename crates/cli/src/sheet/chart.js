// Pauses and heap over time. A chart is drawn again when its width changes.
const charts = [];
const HEIGHT = 200, LEFT = 64, BOTTOM = 18, TOP = 8;

// Steps of 1, 2 or 5 times a power of ten, or of two for bytes.
const ticks = (most, ofBytes) => {
  if (!(most > 0)) return [];
  const base = ofBytes ? 2 ** Math.floor(Math.log2(most / 4)) : 10 ** Math.floor(Math.log10(most / 4));
  const step = [1, 2, 5, 10].map(n => n * base).find(it => most / it <= 4.5) || base * 10;
  const found = [];
  for (let at = step; at <= most; at += step) found.push(at);
  return found;
};

const chart = (timeline, title, legend, most, show, ofBytes, paint) => {
  const svg = draw("svg", {role: "img", "aria-label": title});
  const paintAll = () => {
    const width = Math.max(200, svg.clientWidth || 800), inner = width - LEFT - 8;
    const n = timeline.buckets.length;
    const x = index => LEFT + index * inner / n;
    const y = value => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / most);
    svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    const grid = ticks(most, ofBytes).map(value => [draw("line", {class: "grid", x1: LEFT, x2: width - 8, y1: y(value), y2: y(value)}), draw("text", {x: LEFT - 6, y: y(value) + 4, "text-anchor": "end"}, show(value))]);
    const labels = [0, 0.5, 1].map(share => draw("text", {x: LEFT + share * inner, y: HEIGHT - 4, "text-anchor": share === 0 ? "start" : share === 1 ? "end" : "middle"}, clock(timeline.from_ms + share * n * timeline.width_ms)));
    svg.replaceChildren(...grid.flat(), draw("line", {class: "grid", x1: LEFT, x2: width - 8, y1: y(0), y2: y(0)}), ...labels, ...paint(x, y, inner / n));
  };
  charts.push(paintAll);
  return make("div", {class: "chart"}, make("h3", null, title), make("div", {class: "legend"}, legend.map(([name, text]) => make("span", null, make("i", {class: name}), text))), svg);
};

const pauseChart = timeline => {
  const most = Math.max(0.001, ...timeline.buckets.map(bucket => bucket.max_ms));
  return chart(timeline, "Longest pause", [["pause", "pause"], ["full", "with a full collection"]], most, millis, false, (x, y, wide) =>
    timeline.buckets.flatMap((bucket, index) => bucket.pauses === 0 ? [] : [draw("rect", {class: bucket.full ? "full" : "pause", x: x(index), y: y(bucket.max_ms), width: Math.max(1.5, wide - 0.5), height: Math.max(1, y(0) - y(bucket.max_ms))},
      draw("title", null, clock(timeline.from_ms + index * timeline.width_ms) + ": " + count(bucket.pauses) + " pauses, longest " + millis(bucket.max_ms) + ", in total " + millis(bucket.sum_ms)))]));
};

const heapChart = timeline => {
  const most = Math.max(1, ...timeline.buckets.map(bucket => Math.max(bucket.used_before || 0, bucket.capacity || 0)));
  const line = (name, field, x, y, wide) => {
    const points = timeline.buckets.flatMap((bucket, index) => bucket[field] === null ? [] : [`${(x(index) + wide / 2).toFixed(1)},${y(bucket[field]).toFixed(1)}`]);
    return points.length ? [draw("polyline", {class: "line " + name, points: points.join(" ")})] : [];
  };
  return chart(timeline, "Heap", [["before", "before collections"], ["after", "after collections"], ["size", "size"]], most, bytes, true, (x, y, wide) =>
    [...line("size", "capacity", x, y, wide), ...line("before", "used_before", x, y, wide), ...line("after", "used_after", x, y, wide)]);
};

const drawCharts = () => charts.forEach(paint => paint());
let drawnWidth = innerWidth;
addEventListener("resize", () => { if (innerWidth !== drawnWidth) { drawnWidth = innerWidth; drawCharts(); } });
