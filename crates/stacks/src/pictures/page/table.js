// What stands around the picture: title, tabs, threads, legend, the table.
function threads() {
  const list = tree.view.threads, box = byId("thread");
  byId("thread-label").hidden = !list;
  if (!list) return;
  const found = [];
  for (let node = 0; node < tree.size; node = tree.end[node]) found.push(node);
  found.sort((a, b) => tree.total[view.side][b] - tree.total[view.side][a]);
  box.replaceChildren(make("option", {value: ""}, "all together"), make("option", {value: "apart"}, "each apart"),
    ...found.map(node => make("option", {value: String(node)}, shown[tree.name[node]] + " \u2014 " + amount(tree.total[view.side][node], view.unit))));
  box.value = state.thread;
}

function legend() {
  const line = byId("legend"), {root} = picture.look, spans = [];
  const swatch = (colour, text) => { const mark = make("i"); mark.style.background = colour; spans.push(make("span", null, mark, text)); };
  if (root.sums.length > 1) {
    swatch(isDark() ? "hsl(4 70% 54%)" : "hsl(4 90% 66%)", part ? "costs more in the window" : "costs more than before");
    swatch(isDark() ? "hsl(214 70% 54%)" : "hsl(214 90% 66%)", "costs less");
    swatch(isDark() ? "#7b8087" : "#eceef1", part ? "as much" : "as before");
  } else if (state.colours === "package") {
    const sums = new Map();
    for (let node = 0; node < tree.size; node++) {
      const own = tree.own[view.side][node];
      if (own > 0) { const key = packageOf(data.names[tree.name[node]]); sums.set(key, (sums.get(key) || 0) + own); }
    }
    for (const [key, sum] of [...sums].sort((a, b) => b[1] - a[1]).slice(0, 10)) swatch(key ? hue(hash(key) % 360, 0) : hue(-1, 0), `${key || "other"} ${share(sum, tree.sums[view.side])}`);
  } else {
    const sums = KINDS.map(() => 0);
    // What objects take counts for the kind of the method that allocated them.
    const by = node => tree.isClass(node) && !tree.view.packages && tree.parent[node] >= 0 ? tree.parent[node] : node;
    for (let node = 0; node < tree.size; node++) sums[tree.kind(by(node))] += tree.own[view.side][node];
    KINDS.forEach(([name, degrees], kind) => { if (sums[kind] > 0) swatch(hue(degrees, 0), kind === 2 ? name : `${name} ${share(sums[kind], tree.sums[view.side])}`); });
    if (tree.view.classes && !sums[2]) swatch(hue(KINDS[2][1], 0), KINDS[2][0]);
    if (tree.view.packages) swatch(hue(-1, 0), "packages");
  }
  swatch(isDark() ? "#c084fc" : "#d9a8ff", "found by the search");
  line.replaceChildren(...spans);
}

const OWN_HINT = "By the innermost method of the program on each stack, with all of the JDK and libraries that it calls";
const order = {column: 0, descending: true, classes: false, rows: 50};
function table() {
  const place = byId("table"), isHeap = tree.view.table === "class", differs = tree.own.length > 1;
  const classes = isHeap || order.classes && tree.view.classes;
  const all = forward.root.sums, rows = forward.methods(classes).filter(row => !part || row.total.some(Boolean) || row.own.some(Boolean));
  const hasOwn = !classes && !differs && rows.some(row => row.charged[view.side] > 0);
  const columns = differs
    ? [{title: "Change", of: row => row.own[0] - row.own[1], signed: true}, {title: sides()[1], of: row => row.own[1]}, {title: sides()[0], of: row => row.own[0]}]
    : [...hasOwn ? [{title: "Own code", hint: OWN_HINT, of: row => row.charged[view.side], sort: row => Math.max(row.charged[view.side], row.own[view.side]), bar: true}] : [],
      {title: view.own, of: row => row.own[view.side], bar: !hasOwn}, ...view.total && !classes ? [{title: view.total, of: row => row.total[view.side]}] : []];
  if (order.column >= columns.length && order.column !== 9) order.column = 0;
  const key = order.column === 9 ? null : columns[order.column].sort || columns[order.column].of;
  const size = row => differs && order.column === 0 && order.descending ? Math.abs(key(row)) : key(row);
  rows.sort((a, b) => {
    const x = data.names[a.name], y = data.names[b.name], byName = x < y ? -1 : x > y ? 1 : 0;
    const by = key ? size(a) - size(b) : byName;
    return (order.descending ? -by : by) || byName;
  });
  const hasLines = !classes && !differs && !part && rows.some(row => view.lines[row.name]);
  const head = (title, column, isName, span, hint) => {
    const isSorted = order.column === column;
    return make("th", {scope: "col", colspan: String(span), class: isName ? "name" : "", "aria-sort": isSorted ? order.descending ? "descending" : "ascending" : "none"},
      make("button", {type: "button", ...hint ? {title: hint} : {}, onclick: () => {
        if (isSorted) order.descending = !order.descending; else Object.assign(order, {column, descending: !isName});
        table();
        place.querySelector("th[aria-sort$=cending] button").focus();
      }}, title + (isSorted ? order.descending ? " \u2193" : " \u2191" : "")));
  };
  const cell = (row, column) => {
    const value = column.of(row);
    const sign = column.signed ? value > 0 ? "+" : value < 0 ? "\u2212" : "" : "";
    const cells = [make("td", null, sign + number(Math.abs(value)))];
    if (!differs) cells.push(make("td", null, share(value, all[view.side])));
    if (column.bar) { const bar = make("i"); bar.style.width = 100 * value / Math.max(1, all[view.side]) + "%"; cells.push(make("td", {class: "bar"}, bar)); }
    return cells;
  };
  const word = isHeap || classes ? "Class" : "Method";
  const body = rows.slice(0, order.rows).map(row => make("tr", {class: picture.flags && picture.flags[row.name] ? "match" : ""},
    columns.map(column => cell(row, column)),
    make("td", {class: "name"}, make("button", {type: "button", title: "Find it in the flame graph", onclick: () => find(row.name)}, shown[row.name])),
    hasLines ? make("td", {class: "lines"}, hottest(row.name, 3)) : []));
  const more = rows.length - order.rows;
  place.replaceChildren(
    make("div", {class: "table-tools"}, make("h2", null, `${number(rows.length)} ${classes ? rows.length === 1 ? "class" : "classes" : rows.length === 1 ? "method" : "methods"}, in ${view.unit}`),
      tree.view.classes && !isHeap ? [false, true].map(which => make("button", {type: "button", "aria-pressed": String(which === classes), onclick: () => { order.classes = which; order.column = 0; table(); }}, which ? "Classes" : "Methods")) : []),
    make("div", {class: "table-scroll"}, make("table", null,
      make("thead", null, make("tr", null, columns.map((column, index) => [head(column.title, index, false, differs ? 1 : 2, column.hint), column.bar ? make("td", {class: "bar"}) : null]), head(word, 9, true, 1), hasLines ? make("th", {scope: "col", class: "lines"}, "Hottest lines") : [])),
      make("tbody", null, body))),
    more > 0 ? make("button", {type: "button", class: "more", onclick: () => { order.rows += 200; table(); }}, `Show ${number(Math.min(200, more))} more of ${number(more)}`) : "");
}
// Marks a method everywhere.
function find(name) {
  const plain = data.names[name].replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  change({search: "^" + plain + "$"});
  scroll.scrollIntoView({block: "nearest"});
  step(1);
}

// Light or dark: as the system says, until somebody chooses.
const system = matchMedia("(prefers-color-scheme: dark)");
function theme() {
  const chosen = byId("theme").value;
  const next = picture.prints ? "light" : chosen === "auto" ? system.matches ? "dark" : "light" : chosen;
  document.documentElement.dataset.theme = next;
  if (picture.look) { draw(); legend(); redrawTime(); drawStrips(); }
}
system.addEventListener("change", theme);
byId("theme").onchange = theme;
let wide = 0;
addEventListener("resize", () => { if (picture.look) { redrawTime(); redraw(innerWidth === wide); } drawStrips(); wide = innerWidth; });
addEventListener("beforeprint", () => { picture.prints = true; theme(); redraw(true); });
addEventListener("afterprint", () => { picture.prints = false; theme(); redraw(true); });

function start() {
  const {about} = data;
  byId("title").textContent = about.title;
  byId("about").textContent = about.facts.join(" \u00b7 ");
  byId("command").hidden = !about.command;
  if (about.command) byId("command").replaceChildren(make("code", null, about.command));
  byId("warnings").replaceChildren(...about.warnings.map(text => make("p", {class: "warning", role: "note"}, text)));
  if (about.remarks.length) { byId("remarks").hidden = false; byId("remark-lines").textContent = about.remarks.join("\n"); }
  theme();
  state = fromHash();
  tellSlow();
  if (!data.views.length) { byId("view").replaceChildren(make("p", null, "Nothing was counted.")); return; }
  if (data.views.length > 1) byId("tabs").append(...data.views.map((view, index) => make("button", {type: "button", role: "tab", "aria-controls": "view", onclick: () => change({view: String(index)})}, view.title)));
  else byId("view").removeAttribute("role");
  wide = innerWidth;
  apply(null);
  startTime();
}
start();
// For scripts and tests: where a frame is drawn, in pixels of the window.
globalThis.hprofFrame = name => {
  for (const row of picture.rows) for (const box of row || []) if (!box.count && title(box.frame) === name) {
    const place = canvas.getBoundingClientRect();
    return {x: place.left + box.x, y: place.top + top(box.frame.depth) - scroll.scrollTop, width: box.w, height: ROW};
  }
  return null;
};
