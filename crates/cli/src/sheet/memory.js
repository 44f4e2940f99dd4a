// The memory of a process over time.
const series = data.series, course = data.course, last = data.last, points = series.points;
const titles = Object.fromEntries(data.titles.map(row => [row.kind, row.title]));
const size = n => {
  if (n === null || n === undefined) return none;
  if (Math.abs(n) < 1000) return Math.round(n) + " B";
  let unit = -1;
  while (Math.abs(n) >= 999.95 || unit < 0) { n /= 1000; unit++; }
  return n.toFixed(1) + " " + ["kB", "MB", "GB", "TB", "PB"][unit];
};
const speed = n => (n < 0 ? "\u2212" : "+") + size(Math.abs(n * 60)) + "/min";
const elapsed = s => s < 100 ? Math.round(s) + " s" : s < 6000 ? Math.round(s / 60) + " min" : s < 172800 ? Math.floor(s / 3600) + " h " + Math.floor(s / 60) % 60 + " min" : Math.floor(s / 86400) + " days";
document.title = "Memory: " + data.name;
document.getElementById("file").textContent = plain(data.name + " (" + data.pid + (data.jdk ? ", JDK " + data.jdk : "") + ")");
foot();

const left = course.verdict.seconds_to_limit;
const limit = last.group && last.group.limit;
section("summary", "Summary",
  data.notes.map(note => make("p", {class: "note"}, note)),
  make("article", {class: "finding " + (course.verdict.verdict === "grows" ? "warning" : "")}, make("b", null, data.sentence)),
  last.causes.map(cause => make("article", {class: "finding"}, cause.sentence)),
  cards([
    [size(course.resident.last), "resident at the end"], [speed(course.resident.recent_rate), "growth in the second half"], [size(course.resident.peak), "most at any look"],
    [elapsed(points[points.length - 1].seconds), "recorded, " + count(series.looks) + " looks"],
    [limit ? size(limit) : "none", "limit of the cgroup"], [left === null || left === undefined ? none : elapsed(left), "to the limit at this rate"],
  ]));

// Rows from the bottom up by size at the end; small ones are one band.
const BANDS = 8;
const byPeak = Object.entries(series.peaks).sort((a, b) => b[1] - a[1]).map(entry => entry[0]);
const bands = byPeak.length > BANDS + 1 ? byPeak.slice(0, BANDS).map(kind => [titles[kind], [kind]]).concat([["other rows", byPeak.slice(BANDS)]]) : byPeak.map(kind => [titles[kind], [kind]]);
const at = (point, kinds) => kinds.reduce((sum, kind) => sum + (point.rows[kind] || 0), 0);
const seconds = Math.max(0.001, points[points.length - 1].seconds);

// A chart over time; arrow keys, Home and End move along the looks, as the mouse does.
const timeChart = (id, title, legend, most, paint, tell) => {
  const svg = draw("svg", {role: "img", "aria-label": title + ", by look; arrow keys move along", tabindex: "0"});
  const line = draw("line", {class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM});
  const says = make("p", {class: "says", "aria-live": "polite"});
  let look = points.length - 1, width = 800;
  const x = point => LEFT + point.seconds * (width - LEFT - 8) / seconds;
  const y = value => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / most);
  const move = to => {
    look = Math.min(points.length - 1, Math.max(0, to));
    const point = points[look];
    line.setAttribute("x1", x(point));
    line.setAttribute("x2", x(point));
    says.textContent = plain("After " + elapsed(point.seconds) + ": " + tell(point).join(", "));
  };
  svg.onkeydown = event => {
    const to = {ArrowLeft: look - 1, ArrowRight: look + 1, PageUp: look - 10, PageDown: look + 10, Home: 0, End: points.length - 1}[event.key];
    if (to !== undefined) { move(to); event.preventDefault(); }
  };
  svg.onpointermove = event => {
    const goal = (event.clientX - svg.getBoundingClientRect().left - LEFT) / (width - LEFT - 8) * seconds;
    let nearest = 0;
    points.forEach((point, index) => { if (Math.abs(point.seconds - goal) < Math.abs(points[nearest].seconds - goal)) nearest = index; });
    move(nearest);
  };
  charts.push(() => {
    width = Math.max(200, svg.clientWidth || 800);
    svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    const grid = [0, ...ticks(most, false)].flatMap(value => [draw("line", {class: "grid", x1: LEFT, x2: width - 8, y1: y(value), y2: y(value)}), draw("text", {x: LEFT - 6, y: y(value) + 4, "text-anchor": "end"}, value ? size(value) : "0")]);
    const labels = [0, 0.5, 1].map(share => draw("text", {x: LEFT + share * (width - LEFT - 8), y: HEIGHT - 4, "text-anchor": share === 0 ? "start" : share === 1 ? "end" : "middle"}, elapsed(share * seconds)));
    svg.replaceChildren(...paint(x, y), ...grid, ...labels, line);
    move(look);
  });
  return make("div", {class: "chart", id}, make("h3", null, title), make("div", {class: "legend"}, legend.map(([name, text]) => make("span", null, make("i", {class: name}), text))), svg, says);
};
const polyline = (name, value, x, y) => {
  const known = points.filter(point => value(point) !== null && value(point) !== undefined);
  return known.length > 1 ? [draw("polyline", {class: "line " + name, points: known.map(point => x(point).toFixed(1) + "," + y(value(point)).toFixed(1)).join(" ")})] : [];
};

const most = Math.max(1, ...points.map(point => point.resident)) * 1.04;
const rowsChart = timeChart("rows-chart", "Rows of the resident set", bands.map(([title], index) => ["s" + index, title]), most, (x, y) => {
  const floor = points.map(() => 0);
  return bands.map(([title, kinds], index) => {
    const below = points.map((point, look) => [x(point), y(floor[look])]);
    points.forEach((point, look) => { floor[look] += at(point, kinds); });
    const above = points.map((point, look) => [x(point), y(floor[look])]);
    return draw("polygon", {class: "s" + index, points: [...above, ...below.reverse()].map(pair => pair.map(n => n.toFixed(1)).join(",")).join(" ")}, draw("title", null, title));
  });
}, point => [size(point.resident) + " resident", ...bands.map(([title, kinds]) => [title, at(point, kinds)]).filter(pair => pair[1] > 0).sort((a, b) => b[1] - a[1]).slice(0, 5).map(([title, n]) => title + " " + size(n))]);

const lines = (id, title, list) => {
  const there = list.filter(([, , value]) => points.some(point => value(point) !== null && value(point) !== undefined));
  if (!there.length) return null;
  const top = Math.max(1, ...there.flatMap(([, , value]) => points.map(point => value(point) || 0))) * 1.04;
  return timeChart(id, title, there.map(([name, text]) => [name, text]), top, (x, y) => there.flatMap(([name, , value]) => polyline(name, value, x, y)),
    point => there.map(([, text, value]) => text + " " + size(value(point))));
};
section("time", "Over time", points.length > 1 ? rowsChart : make("p", null, "One look has no course."),
  points.length > 1 ? lines("heap-chart", "Java heap", [["before", "resident", point => point.rows.java_heap], ["after", "used, dead objects too", point => point.heap_used], ["size", "committed", point => point.heap_committed]]) : null,
  points.length > 1 ? lines("group-chart", "Cgroup", [["before", "counts against the limit", point => point.group], ["after", "page cache, which the kernel takes back", point => point.cache], ["size", "limit", point => point.group === null ? null : limit]]) : null);

const change = part => part ? part.name + " " + size(part.from) + " \u2192 " + size(part.to) + (part.count_to > part.count_from && part.count_to > 1 ? " (" + count(part.count_from) + " \u2192 " + count(part.count_to) + ")" : "") : "";
section("growth", "Growth", make("p", null, "Rates are medians of the slopes between looks, so that one jump or a start does not count; the second half decides."),
  table("growth-table", [{title: "Row"}, {title: "First", number: true, show: size}, {title: "Last", number: true, show: size}, {title: "Peak", number: true, show: size}, {title: "Growth", number: true, show: speed},
    {title: "2nd half", number: true, show: (n, row) => make("span", {class: row[7] ? "worse" : ""}, speed(n))}, {title: "Grew most"}],
  course.rows.map(row => [row.title, row.first, row.last, row.peak, row.rate, row.recent_rate, change(row.part), row.grows]), 5));

const basis = {mappings: "", tracking: "as the JVM counts", estimate: "estimate"};
section("rows", "Rows at the end", table("rows-table", [{title: "Row"}, {title: "Resident", number: true, show: size}, {title: "Share", number: true, show: percent}, {title: "Committed", number: true, show: size}, {title: "Used", number: true, show: size}, {title: "Of which"}],
  last.table.rows.map(row => [titles[row.kind], row.resident, row.resident / last.table.resident, row.committed, row.used,
    [basis[row.basis], row.huge ? size(row.huge) + " in huge pages" : "", ...row.parts.slice(0, 5).map(part => part.name + (part.count > 1 ? " x" + count(part.count) : "") + " " + size(part.resident))].filter(it => it).join(", ")]), 1));

const group = last.group, events = group && group.events, before = data.first.group && data.first.group.events;
const since = (name, title) => [title, count(events[name]) + (before ? " (" + count(events[name] - before[name]) + " during the recording)" : "")];
const facts = [
  ...(group ? [["limit", group.limit === null ? "none" : size(group.limit)], ["high", group.high === null ? null : size(group.high)], ["counts against the limit", size(group.current)],
    ["of no file", size(group.parts.anonymous)], ["page cache", size(Math.max(0, group.parts.file - group.parts.shared))], ["shared memory and tmpfs", size(group.parts.shared)], ["kernel", size(group.parts.kernel)], ["sockets", size(group.parts.sockets)],
    since("max", "limit reached"), since("high", "high passed"), since("kills", "processes killed")] : [["cgroup", "none with figures of memory"]]),
  ["-Xmx", last.limits.max_heap === null ? null : size(last.limits.max_heap)], ["MaxRAMPercentage", last.limits.max_ram_percentage === null ? null : String(last.limits.max_ram_percentage)], ["MaxDirectMemorySize", last.limits.max_direct === null ? null : size(last.limits.max_direct)], ["MaxMetaspaceSize", last.limits.max_metaspace === null ? null : size(last.limits.max_metaspace)],
  ["ReservedCodeCacheSize", last.limits.code_cache === null ? null : size(last.limits.code_cache)], ["ulimit -v", last.limits.address_space === null ? null : size(last.limits.address_space)], ["machine", last.limits.machine === null ? null : size(last.limits.machine)], ["threads", count(last.status.threads)],
].filter(pair => pair[1] !== null);
section("limits", "Limits and cgroup", table("limits-table", [{title: "Name"}, {title: "Value"}], facts, null));
drawCharts();
