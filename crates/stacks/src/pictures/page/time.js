// When costs arose. The events of a measure are packed by `times.rs`: stacks with groups of threads (pairs), how many events each
// tick has, and of each event the pair and the weight. Sums of a window are kept, so a window that moves costs what it moves over.
const times = data.times || null;
// Parts of a second that the heat map has rows for; each is a whole number of ticks.
const CELL = times ? Math.max(20000, times.tick) : 0;
const ROWS = Math.max(1, Math.round(1e6 / CELL)), COLUMN = Math.max(1e6, CELL);
const CELLS = times ? Math.ceil(times.ticks * times.tick / CELL) : 0;
// By place of the view: its events, and those with the threads that wait for work, once they are unpacked.
const events = [], wholeEvents = [];
const eventsOf = index => (state.idle && wholeEvents[index]) || events[index];

async function unpack(text) {
  let packed;
  if (Uint8Array.fromBase64) packed = Uint8Array.fromBase64(text);
  else {
    const raw = atob(text);
    packed = new Uint8Array(raw.length);
    for (let at = 0; at < raw.length; at++) packed[at] = raw.charCodeAt(at);
  }
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

class Events {
  constructor(bytes, {factor, scale, rate}) {
    Object.assign(this, {factor, scale, rate});
    let at = 0;
    const next = () => {
      let byte = bytes[at++];
      if (byte < 0x80) return byte;
      let value = byte & 0x7f;
      for (let by = 128; byte >= 0x80; by *= 128) { byte = bytes[at++]; value += (byte & 0x7f) * by; }
      return value;
    };
    const pairs = next();
    this.node = Int32Array.from({length: pairs}, next);
    this.group = Uint8Array.from({length: pairs}, next);
    this.start = new Uint32Array(times.ticks + 1);
    for (let tick = 0; tick < times.ticks; tick++) this.start[tick + 1] = this.start[tick] + next();
    const size = this.size = this.start[times.ticks];
    this.pair = new Uint32Array(size);
    for (let tick = 0; tick < times.ticks; tick++) {
      // Those of a tick stand in the order of their pairs.
      let pair = 0;
      for (let event = this.start[tick]; event < this.start[tick + 1]; event++) this.pair[event] = pair += next();
    }
    this.weight = next() ? new Float64Array(size) : null;
    if (this.weight) for (let event = 0; event < size; event++) this.weight[event] = next();
    // What each group costs in each cell, and all of them.
    const by = CELL / times.tick;
    this.cells = times.groups.map(() => null);
    this.all = new Float32Array(CELLS);
    for (let cell = 0; cell < CELLS; cell++) {
      const end = this.start[Math.min(times.ticks, (cell + 1) * by)];
      for (let event = this.start[Math.min(times.ticks, cell * by)]; event < end; event++) {
        const group = this.group[this.pair[event]], weight = this.weight ? this.weight[event] : 1;
        const cells = this.cells[group] = this.cells[group] || new Float32Array(CELLS);
        cells[cell] += weight;
        this.all[cell] += weight;
      }
    }
    this.sums = [new Sums(this), new Sums(this)];
  }
}

// The sums of the pairs in a window, which moves.
class Sums {
  constructor(events) {
    this.events = events;
    this.values = new Float64Array(events.node.length);
    this.from = this.to = 0;
  }
  add(from, to, sign) {
    const {start, pair, weight} = this.events, {values} = this, end = start[to];
    if (weight) for (let event = start[from]; event < end; event++) values[pair[event]] += sign * weight[event];
    else for (let event = start[from]; event < end; event++) values[pair[event]] += sign;
  }
  // Moves to the ticks from one to another.
  move(from, to) {
    const kept = Math.min(to, this.to) - Math.max(from, this.from);
    if (kept * 2 < to - from || kept * 2 < this.to - this.from) {
      this.values.fill(0);
      this.add(from, to, 1);
    } else {
      if (from < this.from) this.add(from, this.from, 1); else this.add(this.from, from, -1);
      if (to > this.to) this.add(this.to, to, 1); else this.add(to, this.to, -1);
    }
    this.from = from;
    this.to = to;
    return this.values;
  }
}

// A window is a pair of microseconds since the first tick; the address has seconds since 1970-01-01 UTC.
const seconds = at => ((times.from + at) / 1e6).toFixed(6).replace(/\.?0+$/, "");
const toText = ([from, to]) => seconds(from) + "-" + seconds(to);
function toWindow(text) {
  const found = times && /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text);
  if (!found) return null;
  const [from, to] = [found[1], found[2]].map(part => Math.round((parseFloat(part) * 1e6 - times.from) / times.tick) * times.tick);
  return clip(from, to);
}
function clip(from, to) {
  const end = times.ticks * times.tick;
  from = Math.max(0, from);
  to = Math.min(end, to);
  return from < to ? [from, to] : null;
}
const ticks = at => Math.min(times.ticks, Math.round(at / times.tick));
const isRest = () => state.against === "rest";

// The tree with the costs of the windows alone; the tree itself if there is none, or none for this view.
let part = null;
function windowed(base) {
  const packed = times && eventsOf(+state.view), window = toWindow(state.time);
  part = null;
  if (!packed || !window) return base;
  const second = isRest() ? null : toWindow(state.against);
  const length = window[1] - window[0], all = times.to - times.first;
  const other = isRest() ? all - length : second ? second[1] - second[0] : 0;
  const first = packed.sums[0].move(ticks(window[0]), ticks(window[1]));
  const columns = [{values: first, by: packed.scale}];
  if (other > 0) {
    // Costs of the second window are those of a window as long as the first.
    const by = packed.scale * length / other;
    columns.push({values: second ? packed.sums[1].move(ticks(second[0]), ticks(second[1])) : packed.sums[1].move(0, times.ticks), by, less: second ? null : first});
  }
  const own = columns.map(({values, by, less}) => {
    const own = new Float64Array(base.size);
    for (let pair = 0; pair < values.length; pair++) own[packed.node[pair]] += (less ? values[pair] - less[pair] : values[pair]) * by;
    return own;
  });
  const total = own.map(own => base.totalOf(own)), sums = total.map(total => base.sumOf(total));
  const rate = sums.map(sum => sum / packed.scale * packed.factor * 1e6 / length);
  part = {window, second, length, other, rate, unit: packed.rate};
  return Object.assign(Object.create(Tree.prototype), base, {own, total, sums});
}

// The names of the two columns of a difference, the one that is looked at first.
const sides = () => part ? ["Window", part.second ? "Second window" : "Other time"] : ["After", "Before"];

// The innermost method of the program on the way to each node.
function payers(base) {
  if (base.payer) return base.payer;
  const payer = new Int32Array(base.size).fill(-1);
  for (let node = 0; node < base.size; node++) {
    const above = base.parent[node] >= 0 ? payer[base.parent[node]] : -1;
    const isThread = base.view.threads && base.depth[node] === 0;
    payer[node] = !isThread && !base.isClass(node) && data.own[base.name[node]] === "1" ? base.name[node] : above;
  }
  return base.payer = payer;
}

const rateText = (value, unit) => unit === "bytes/s" ? size(value) + "/s" : (value < 100 && /^(cores|threads)$/.test(unit) ? value.toFixed(2) : number(value)) + " " + unit;

// What the windows have, in a sentence.
function sentence() {
  const {window, second, rate, unit} = part;
  const all = tree.sums[0], first = `${clockSpan(window)}: ${rateText(rate[0], unit)}`;
  if (rate.length > 1) {
    const whole = tree.sums[0] - tree.sums[1], found = largestChange(whole < 0 ? -1 : 1);
    const against = second ? `in ${clockSpan(second)}` : "in all other time";
    const share = found && whole ? Math.round(100 * found.change / Math.abs(whole)) : 0;
    return `${first}, and ${rateText(rate[1], unit)} ${against}${share >= 50 && Math.abs(whole) >= 0.02 * Math.max(...tree.sums) ? `: ${Math.min(100, share)} % of the difference in ${shown[found.name]}` : "; no method has half of a difference"}`;
  }
  const payer = payers(treeOf(view, state.idle)), sums = new Float64Array(data.names.length);
  for (let node = 0; node < tree.size; node++) if (payer[node] >= 0) sums[payer[node]] += tree.own[0][node];
  let most = -1;
  for (let name = 0; name < sums.length; name++) if (sums[name] > 0 && (most < 0 || sums[name] > sums[most])) most = name;
  return first + (most >= 0 && all > 0 ? `, ${Math.round(100 * sums[most] / all)} % in ${shown[most]}` : "");
}

// The innermost method that has most of the difference of its callers; the program's own, if one is on the way.
function largestChange(sign) {
  const change = frame => sign * (frame.sums[0] - frame.sums[1]);
  let at = forward.root, before = 0, found = null;
  for (;;) {
    let most = null;
    for (const kid of forward.kids(at)) if (!most || change(kid) > change(most)) most = kid;
    if (!most || change(most) <= 0 || change(most) < 0.8 * before) return found;
    const isThread = tree.view.threads && forward.apart && most.depth === 1;
    if (!isThread && (!found || data.kinds[most.name] !== "1")) found = {name: most.name, change: change(most)};
    if (!isThread) before = change(most);
    at = most;
  }
}

// Moments as clocks show them.
const two = value => String(value).padStart(2, "0");
function clock(at, digits = 0) {
  const millis = Math.floor((times.from + at) / 1000), date = new Date(millis), utc = state.zone === "utc";
  const [hours, minutes, second] = utc ? [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()] : [date.getHours(), date.getMinutes(), date.getSeconds()];
  return `${two(hours)}:${two(minutes)}:${two(second)}${digits ? "." + String(((millis % 1000) + 1000) % 1000).padStart(3, "0").slice(0, digits) : ""}`;
}
const day = at => { const date = new Date((times.from + at) / 1000); return state.zone === "utc" ? date.toISOString().slice(0, 10) : `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`; };
const digitsOf = (...moments) => Math.max(...moments.map(at => Math.abs(at / 1e6 - Math.round(at / 1e6)) < 1e-9 ? 0 : 3));
const clockSpan = ([from, to]) => { const digits = digitsOf(from, to); return `${clock(from, digits)} to ${clock(to, digits)} (${+((to - from) / 1e6).toFixed(3)} s)`; };
