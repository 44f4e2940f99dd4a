// What people do: keys, clicks, the address.
const DEFAULTS = {view: "0", search: "", reverse: "", thread: "", order: "cost", colours: "kind", least: "0.5", idle: "", invert: data.icicle ? "1" : "", zoom: "", time: "", against: "", zone: ""};
const START = {...DEFAULTS, reverse: data.reverse ? "1" : ""};
let state = {...START};
const trees = [];
const treeOf = (view, idle) => {
  const at = idle && view.whole !== null ? view.whole : view.tree;
  return trees[at] = trees[at] || new Tree(data.trees[at]);
};
let view = null, tree = null, forward = null, pattern = null, restoring = false;

const make = (name, attributes, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) key === "onclick" ? element.onclick = value : element.setAttribute(key, value);
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined));
  return element;
};

// The address: `#view=1&search=x&zoom=3.17.20`, only what differs from the start.
function toHash() {
  const words = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) if (value !== START[key]) words.set(key, value);
  return "#" + words;
}
function fromHash() {
  const next = {...START};
  for (const [key, value] of new URLSearchParams(location.hash.slice(1))) if (key in next) next[key] = value;
  if (!data.views[+next.view]) next.view = "0";
  if (!["cost", "name"].includes(next.order)) next.order = "cost";
  if (!["kind", "package"].includes(next.colours)) next.colours = "kind";
  if (!["0.5", "2", "6"].includes(next.least)) next.least = "0.5";
  if (next.zone !== "utc") next.zone = "";
  if (!toWindow(next.time)) next.time = next.against = "";
  if (next.against !== "rest" && !toWindow(next.against)) next.against = "";
  return next;
}
// Where a page may not change its address, it works without.
function remember(replaces) {
  if (restoring || toHash() === (location.hash || "#")) return;
  try { history[replaces ? "replaceState" : "pushState"](null, "", location.pathname + location.search + (toHash() === "#" ? "" : toHash())); } catch { /* a frame without an address */ }
}

// Changes the state by one click or key, and keeps the one before for "back".
function change(part, replaces) {
  const old = state;
  if ("view" in part && part.view !== old.view) part = {zoom: "", ...part, thread: keptThread(part)};
  if ("idle" in part && part.idle !== old.idle) part = {zoom: "", ...part, thread: state.thread === "apart" ? "apart" : ""};
  if (["reverse", "thread"].some(key => key in part && part[key] !== old[key])) part = {zoom: "", ...part};
  state = {...state, ...part};
  apply(old);
  remember(replaces);
}
const keptThread = part => treeOf(data.views[+part.view], state.idle) === treeOf(view, state.idle) ? state.thread : "";

// `isMoving` leaves out what a window that moves shows when it stands.
function apply(old, isMoving) {
  const has = key => !old || old[key] !== state[key];
  view = data.views[+state.view];
  tree = windowed(treeOf(view, state.idle));
  if (tree.view.threads && state.thread && state.thread !== "apart" && !(tree.depth[+state.thread] === 0 && tree.size > +state.thread)) state.thread = "";
  const fresh = ["view", "idle", "reverse", "thread", "order", "time", "against"].some(has);
  const chosen = picture.chosen && picture.look ? picture.look.path(picture.chosen).map(frame => frame.name) : null;
  if (fresh) {
    const how = {side: view.side, reverse: !!state.reverse, thread: state.thread, order: state.order};
    picture.look = new Look(tree, how);
    forward = state.reverse ? new Look(tree, {...how, reverse: false}) : picture.look;
    picture.chosen = chosen && !has("view") && !has("idle") && !has("reverse") && !has("thread") ? picture.look.follow(chosen) : null;
    picture.hover = null;
  }
  if (fresh || has("zoom")) picture.zoom = picture.look.follow(state.zoom ? state.zoom.split(".").map(part => parseInt(part, 36)) : []);
  picture.icicle = !!state.invert;
  picture.colours = state.colours;
  picture.least = +state.least;
  if (has("search")) setPattern();
  if (fresh || has("search")) picture.look.mark(picture.flags || new Uint8Array(data.names.length));
  for (const key of ["order", "colours", "least", "thread"]) byId(key).value = state[key];
  if (byId("search").value !== state.search) byId("search").value = state.search;
  byId("invert").setAttribute("aria-pressed", String(picture.icicle));
  byId("reverse").setAttribute("aria-pressed", String(!!state.reverse));
  byId("idle").hidden = view.whole === null;
  byId("idle").setAttribute("aria-pressed", String(!state.idle));
  if (view.whole !== null) byId("idle").textContent = `Hide waits for work (${share(view.idle, treeOf(view, "1").sums[view.side])})`;
  byId("colours").disabled = tree.own.length > 1;
  byId("reset").disabled = !picture.zoom.above;
  document.querySelectorAll("#tabs button").forEach((tab, index) => {
    tab.setAttribute("aria-selected", String(String(index) === state.view));
    tab.tabIndex = String(index) === state.view ? 0 : -1;
  });
  if (!isMoving && ["view", "idle", "time", "against"].some(has)) { threads(); headline(); }
  hideTip();
  redraw(!(has("view") || has("invert") || has("reverse") || has("zoom")));
  if (picture.chosen) show(picture.chosen);
  tellMatches();
  tellChosen();
  if (times && has("idle")) findLanes();
  if (["view", "zone", "idle"].some(has)) redrawTime(); else if (has("time") || has("against")) { if (!isMoving && hasThreads()) drawThreads(); drawOver(); }
  tellTime();
  if (old && has("zone")) tellSlow();
  if (!isMoving && (fresh || has("search") || has("colours"))) { legend(); table(); }
}

// Where the cost goes, and which packages are taken for the program's.
function headline() {
  const {packages} = view, shownPackages = packages.slice(0, 6).join(", ");
  // A number stays beside its sign where lines wrap.
  const whole = text => text.replace(/(\d) %/g, "$1\u00a0%");
  byId("headline").hidden = part || !view.headline && !view.cut && !packages.length;
  byId("headline").replaceChildren(
    view.headline ? make("b", null, whole(view.headline)) : "",
    view.cut ? make("span", {class: "cut"}, whole(view.cut) + ".") : "",
    packages.length ? make("span", null, `Own code: ${shownPackages}${packages.length > 6 ? ` and ${number(packages.length - 6)} more` : ""}`) : "");
}

function setPattern() {
  const box = byId("search");
  picture.flags = pattern = null;
  box.removeAttribute("aria-invalid");
  if (!state.search) return;
  // Small letters find both, as in editors.
  const how = state.search === state.search.toLowerCase() ? "iu" : "u";
  try { pattern = new RegExp(state.search, how); } catch {
    box.setAttribute("aria-invalid", "true");
    const plain = state.search.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
    pattern = new RegExp(plain.replace(/\\-/g, "-"), how);
  }
  picture.flags = Uint8Array.from(data.names, name => pattern.test(name) ? 1 : 0);
}

function matches() {
  const found = [];
  if (picture.flags) for (const row of picture.rows) if (row) for (const box of row) if (!box.count && !box.above && box.frame.name >= 0 && picture.flags[box.frame.name]) found.push(box.frame);
  return found;
}
function tellMatches() {
  const line = byId("matched"), {zoom, look} = picture;
  line.replaceChildren();
  byId("next").disabled = byId("previous").disabled = !picture.flags;
  if (!picture.flags) return;
  const sum = look.matched(zoom), names = picture.flags.reduce((sum, flag) => sum + flag, 0), seen = matches();
  const at = seen.indexOf(picture.chosen);
  line.append(byId("search").getAttribute("aria-invalid") ? "Not a regular expression, searched as text. " : "",
    "Matched: ", make("b", null, share(sum, zoom.total)), zoom.above ? " of the zoomed frame, " : ", ", amount(sum, view.unit),
    `; ${number(names)} ${names === 1 ? "name" : "names"}, ${at >= 0 ? number(at + 1) + " of " : ""}${number(seen.length)} in sight`);
}
function step(by) {
  const seen = matches();
  if (!seen.length) return;
  const at = seen.indexOf(picture.chosen);
  choose(seen[at < 0 ? by > 0 ? 0 : seen.length - 1 : (at + by + seen.length) % seen.length]);
  tellMatches();
}

// The lines of a method that cost most, with what they call: `Parser.java:41 62.00%, :44 3.10%`.
function hottest(name, most) {
  const [file, lines] = view.lines[name] || ["", []];
  return lines.slice(0, most).map(([line, own, total], at) => `${at ? "" : file}:${line} ${share(total, tree.sums[view.side])}`).join(", ");
}

// What is known of a frame, as the line below the picture and the box at the pointer tell it.
function facts(frame, box) {
  const all = picture.look.root.total, {above} = frame;
  if (box && box.count) return [`${number(box.count)} narrow ${box.count === 1 ? "frame" : "frames"}`, `${amount(box.total, view.unit)}, ${share(box.total, all)} of all; zoom in to see them`];
  const parts = [`${amount(frame.total, view.unit)}, ${share(frame.total, all)} of all`];
  if (above && above.above) parts.push(`${share(frame.total, above.total)} of the frame ${state.reverse ? "it calls" : "that calls it"}`);
  if (frame.own > 0 && !state.reverse && frame.own !== frame.total) parts.push(`${view.own.toLowerCase()}: ${amount(frame.own, view.unit)}`);
  if (frame.kind !== 2 && view.lines[frame.name] && !part && frame.sums.length < 2) parts.push(`hottest lines: ${hottest(frame.name, 5)} of all`);
  if (frame.sums.length > 1) {
    const change = frame.sums[0] - frame.sums[1];
    parts.push(`${sides()[1].toLowerCase()} ${number(frame.sums[1])}, ${sides()[0].toLowerCase()} ${number(frame.sums[0])}: ${change > 0 ? "+" : change < 0 ? "\u2212" : "\u00b1"}${number(Math.abs(change))}${frame.sums[1] > 0 ? ` (${(100 * change / frame.sums[1]).toFixed(1)}%)` : ", new"}`);
  }
  if (picture.flags) parts.push(`matched ${share(picture.look.matched(frame), frame.total)}`);
  return [title(frame), parts.join("; ")];
}
function tellChosen() {
  const line = byId("details"), frame = picture.chosen;
  byId("copy").disabled = !frame;
  tellSource(frame);
  if (!frame) { line.replaceChildren(picture.look.root.total > 0 ? "Click a frame to zoom; point at one for details." : "Nothing was counted."); return; }
  const [name, text] = facts(frame);
  line.replaceChildren(make("b", null, name), " \u2014 " + text);
}
function choose(frame) {
  picture.chosen = frame;
  show(frame);
  draw();
  tellChosen();
}
function zoomTo(frame) {
  picture.chosen = frame.above ? frame : null;
  change({zoom: picture.look.path(frame).map(at => at.name.toString(36)).join(".")});
}
function copy() {
  if (!picture.chosen) return;
  const lines = picture.look.path(picture.chosen).map(title);
  // Innermost first, as Java prints stacks.
  const text = (state.reverse ? lines : lines.reverse()).join("\n");
  const done = () => { byId("copy").textContent = "Copied"; setTimeout(() => { byId("copy").textContent = "Copy stack"; }, 1500); };
  const byHand = () => {
    const area = make("textarea", {"aria-label": "Stack"});
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    canvas.focus();
    done();
  };
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, byHand); else byHand();
}

// Where the pointer is.
const tip = byId("tip");
function hideTip() { tip.hidden = true; picture.hover = null; }
function point(event) {
  const place = canvas.getBoundingClientRect();
  return boxAt(event.clientX - place.left, event.clientY - place.top + scroll.scrollTop);
}
canvas.addEventListener("pointermove", event => {
  if (event.pointerType === "touch") return;
  const box = point(event);
  const frame = box && !box.count ? box.frame : null;
  if (frame !== picture.hover) { picture.hover = frame; draw(); }
  if (!box) { tip.hidden = true; return; }
  tipAt(event, ...facts(box.frame, box));
});
// Puts the box of words at the pointer.
function tipAt(event, name, text) {
  tip.replaceChildren(make("b", null, name), text);
  tip.hidden = false;
  const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
  const below = event.clientY + 18;
  tip.style.left = Math.max(4, left) + "px";
  tip.style.top = (below + tip.offsetHeight < innerHeight ? below : Math.max(4, event.clientY - tip.offsetHeight - 12)) + "px";
}
canvas.addEventListener("pointerleave", () => { hideTip(); draw(); });
canvas.addEventListener("click", event => { const box = point(event); if (box) zoomTo(box.frame); });
scroll.addEventListener("scroll", () => { hideTip(); draw(); });
canvas.addEventListener("focus", () => { if (!picture.chosen && canvas.matches(":focus-visible")) choose(picture.zoom); });

// From frame to frame.
function move(key) {
  const at = picture.chosen || picture.zoom, row = picture.rows[at.depth] || [];
  const index = row.findIndex(box => box.frame === at && !box.count);
  const deeper = (key === "ArrowDown") === picture.icicle;
  if (key === "ArrowLeft" || key === "ArrowRight") {
    const by = key === "ArrowLeft" ? -1 : 1;
    for (let next = index + by; next >= 0 && next < row.length; next += by) if (!row[next].count) return row[next].frame;
  } else if (deeper) {
    const here = row[index], next = (picture.rows[at.depth + 1] || []).find(box => !box.count && box.frame.above === at);
    if (here && next) return next.frame;
  } else if (at.above) return at.above;
  return at;
}
function onGraph(event) {
  if (event.key.startsWith("Arrow")) choose(move(event.key));
  else if (event.key === "Enter" || event.key === " ") zoomTo(picture.chosen || picture.zoom);
  else if (event.key === "Home") zoomTo(picture.look.root);
  else return false;
  return true;
}
function onPage(event) {
  const {key} = event;
  if (key === "n") step(1);
  else if (key === "N") step(-1);
  else if (key === "/") byId("search").focus();
  else if (key === "0") zoomTo(picture.look.root);
  else if (key === "i") byId("invert").click();
  else if (key === "r") byId("reverse").click();
  else if (key === "w") { if (!byId("idle").hidden) byId("idle").click(); else return false; }
  else if (key === "o") change({order: state.order === "cost" ? "name" : "cost"});
  else if (key === "c") copy();
  else if (key === "?") byId("help").click();
  else return false;
  return true;
}
document.addEventListener("keydown", event => {
  const {key} = event, typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
  let done = false;
  if ((event.ctrlKey || event.metaKey) && !event.altKey && key.toLowerCase() === "f") {
    // The second time the browser's own search opens.
    if (document.activeElement === byId("search")) return;
    byId("search").focus();
    byId("search").select();
    done = true;
  } else if (event.ctrlKey || event.metaKey || event.altKey) return;
  else if (key === "F3") { step(event.shiftKey ? -1 : 1); done = true; }
  else if (key === "Escape") {
    hideTip();
    if (!byId("keys").hidden) byId("help").click();
    else if (state.search) change({search: ""});
    else if (picture.zoom.above) zoomTo(picture.zoom.above);
    if (document.activeElement === byId("search")) canvas.focus();
    done = true;
  } else if (document.activeElement === byId("search") && key === "Enter") { step(event.shiftKey ? -1 : 1); done = true; }
  else if (!typing) done = (document.activeElement === canvas && onGraph(event)) || onPage(event);
  if (done) event.preventDefault();
});

let typed = 0;
byId("search").addEventListener("input", () => {
  clearTimeout(typed);
  const from = state.search;
  typed = setTimeout(() => change({search: byId("search").value}, from !== ""), data.names.length > 20000 ? 200 : 60);
});
byId("next").onclick = () => step(1);
byId("previous").onclick = () => step(-1);
byId("reset").onclick = () => zoomTo(picture.look.root);
byId("invert").onclick = () => change({invert: state.invert ? "" : "1"});
byId("reverse").onclick = () => change({reverse: state.reverse ? "" : "1"});
byId("idle").onclick = () => change({idle: state.idle ? "" : "1"});
byId("copy").onclick = copy;
for (const key of ["order", "colours", "least", "thread"]) byId(key).onchange = () => change({[key]: byId(key).value});
byId("options").onclick = () => { const open = byId("tools").classList.toggle("open"); byId("options").setAttribute("aria-expanded", String(open)); redraw(true); };
byId("help").onclick = () => { const keys = byId("keys"); keys.hidden = !keys.hidden; byId("help").setAttribute("aria-expanded", String(!keys.hidden)); redraw(true); };
byId("tabs").addEventListener("keydown", event => {
  const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
  if (!by) return;
  const tabs = [...byId("tabs").children], next = (tabs.indexOf(document.activeElement) + by + tabs.length) % tabs.length;
  tabs[next].click();
  tabs[next].focus();
});
addEventListener("popstate", back);
addEventListener("hashchange", back);
function back() {
  const next = fromHash();
  if (JSON.stringify(next) === JSON.stringify(state)) return;
  const old = state;
  state = next;
  restoring = true;
  apply(old);
  restoring = false;
}
