// The source of the chosen frame's method, with the share of each line of all costs. The shares are those of all time.
function tellSource(frame) {
  const box = byId("source"), source = frame && frame.kind !== 2 && frame.sums.length < 2 && !part && data.sources[frame.name];
  box.hidden = !source;
  if (!source) { box.replaceChildren(); return; }
  const all = tree.sums[view.side], costs = new Map(((view.lines[frame.name] || [])[1] || []).map(([line, own, total]) => [line, total]));
  const most = Math.max(1, ...costs.values());
  const hottestLine = [...costs].reduce((best, at) => at[1] > best[1] ? at : best, [source.first, 0])[0];
  const open = (line, text) => source.link ? make("a", {href: source.link.replace("{line}", line), title: `Open ${source.path}:${line} in the editor`}, text) : text;
  const rows = source.lines.map((text, at) => {
    const line = source.first + at, cost = costs.get(line) || 0, bar = make("i");
    bar.style.width = 100 * cost / most + "%";
    return make("tr", {class: cost ? "hot" : ""}, make("td", null, cost ? share(cost, all) : ""), make("td", {class: "bar"}, bar), make("td", null, open(line, String(line))), make("td", null, text));
  });
  box.replaceChildren(
    make("h2", null, open(hottestLine, `${source.path}:${hottestLine}`), make("span", null, " share of all, with calls")),
    make("div", {class: "source-lines", tabindex: "0", role: "region", "aria-label": "Source"}, make("table", null, make("tbody", null, rows))));
  const hot = box.querySelector(".hot");
  if (hot) hot.parentElement.parentElement.parentElement.scrollTop = Math.max(0, hot.offsetTop - 40);
}
