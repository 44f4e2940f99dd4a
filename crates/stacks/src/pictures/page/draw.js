// The picture: frames are laid out as far as they are wide enough, and drawn as far as they are in
// sight, so neither size nor depth of a profile matters.
const ROW = 19;
const byId = id => document.getElementById(id);
const canvas = byId("graph"), scroll = byId("scroll"), room = byId("room");
const brush = canvas.getContext("2d");
const FONT = "12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
const number = value => Math.round(value).toLocaleString("en-US");
const share = (part, whole) => whole > 0 ? (100 * part / whole).toFixed(2) + "%" : "-";
const size = value => {
  if (value < 1000) return number(value) + " bytes";
  let unit = -1;
  do { value /= 1000; unit++; } while (value >= 999.95 && unit < 4);
  return value.toFixed(1) + " " + ["kB", "MB", "GB", "TB", "PB"][unit];
};
const amount = (value, unit) => unit === "bytes" ? value < 1000 ? size(value) : size(value) + " (" + number(value) + " bytes)" : number(value) + " " + (value === 1 && unit !== "ms" ? unit.replace(/s$/, "") : unit);

// A name as it is drawn and shown: nothing in it changes the direction of what follows.
const shown = data.names.map(name => name.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, "\u00b7"));
const title = frame => frame.name < 0 ? "all" : shown[frame.name];
const packageOf = name => {
  const parts = name.split(".");
  let end = 0;
  while (end < parts.length - 1 && /^[a-z_]/.test(parts[end]) && end < 3) end++;
  return name.startsWith("<") ? "" : parts.slice(0, Math.max(1, end)).join(".");
};
const hash = text => { let sum = 0x811c9dc5; for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193); return sum >>> 0; };
const KINDS = [["program", 30], ["JDK", 112], ["classes of objects", 206], ["other", -1], ["native", 338], ["libraries", 62], ["kernel", 268]];
const isDark = () => document.documentElement.dataset.theme === "dark";
const hue = (degrees, shade) => degrees < 0 ? isDark() ? "#8c9197" : "#cdd1d6" : isDark() ? `hsl(${degrees + shade % 16} 42% ${56 + (shade >> 4) % 9}%)` : `hsl(${degrees + shade % 16} 72% ${70 + (shade >> 4) % 9}%)`;

// The state of the picture; controls.js changes it, the address holds it.
const picture = {look: null, zoom: null, chosen: null, hover: null, rows: [], icicle: false, colours: "kind", least: 0.5, flags: null, width: 0, most: 0};

function colour(frame) {
  if (frame.name < 0) return isDark() ? "#6f757c" : "#e2e5e9";
  if (picture.flags && picture.flags[frame.name]) return isDark() ? "#c084fc" : "#d9a8ff";
  const {sums} = frame;
  if (sums.length > 1) {
    const change = sums[0] - sums[1];
    if (Math.abs(change) < 1e-9) return isDark() ? "#7b8087" : "#eceef1";
    const strength = Math.sqrt(Math.min(1, Math.abs(change) / picture.most));
    return isDark() ? `hsl(${change > 0 ? 4 : 214} ${25 + 45 * strength}% ${68 - 14 * strength}%)` : `hsl(${change > 0 ? 4 : 214} 90% ${94 - 28 * strength}%)`;
  }
  const name = data.names[frame.name];
  if (picture.colours === "package") { const own = packageOf(name); return own ? hue(hash(own) % 360, hash(name) % 6) : hue(-1, 0); }
  return hue(KINDS[frame.kind][1], hash(name));
}

function layout() {
  const {look, zoom} = picture, width = picture.width, rows = [];
  const put = (level, box) => { (rows[level] = rows[level] || []).push(box); };
  const way = [look.root, ...look.path(zoom)];
  way.forEach((frame, level) => put(level, {x: 0, w: width, frame, above: frame !== zoom}));
  picture.most = Math.max(1, ...look.kids(look.root).map(kid => Math.abs(kid.sums[0] - (kid.sums[1] || 0))));
  const open = [[zoom, 0, width]];
  while (open.length) {
    const [frame, left, wide] = open.pop();
    if (!(frame.total > 0)) continue;
    const scale = wide / frame.total;
    let x = left, narrow = null;
    for (const kid of look.kids(frame)) {
      const w = kid.total * scale;
      if (!(w > 0)) continue;
      if (w >= picture.least) {
        narrow = null;
        put(kid.depth, {x, w, frame: kid});
        open.push([kid, x, w]);
      } else if (narrow) {
        narrow.w += w; narrow.count++; narrow.total += kid.total;
      } else {
        narrow = {x, w, frame, count: 1, total: kid.total};
        put(kid.depth, narrow);
      }
      x += w;
    }
  }
  rows.forEach(row => row.sort((a, b) => a.x - b.x));
  picture.rows = rows;
  room.style.height = rows.length * ROW + "px";
}

const top = level => picture.icicle ? level * ROW : (picture.rows.length - 1 - level) * ROW;
const levelAt = y => { const row = Math.floor(y / ROW); return picture.icicle ? row : picture.rows.length - 1 - row; };

// Resizes what is seen: all of the picture if the window has room for it.
function fit() {
  const full = picture.rows.length * ROW;
  const above = scroll.getBoundingClientRect().top + window.scrollY;
  const least = Math.min(full, 190);
  const height = picture.prints ? full : Math.max(least, Math.min(full, window.innerHeight - above - 70));
  scroll.style.height = height + 2 + "px";
  const dots = window.devicePixelRatio || 1;
  const wide = room.clientWidth, high = Math.min(height, full);
  canvas.style.height = high + "px";
  canvas.width = Math.max(1, Math.round(wide * dots));
  canvas.height = Math.max(1, Math.round(high * dots));
  brush.setTransform(dots, 0, 0, dots, 0, 0);
}

let letter = 0;
function label(box) {
  if (box.w < 3 * letter + 6) return "";
  const fits = Math.floor((box.w - 6) / letter);
  let text = title(box.frame);
  if (text.length > fits) {
    // Without package or class a name may fit.
    const parts = text.split(".");
    if (parts.length > 2) text = parts.slice(-2).join(".");
    if (text.length > fits && parts.length > 1) text = parts[parts.length - 1];
  }
  return text.length > fits ? text.slice(0, Math.max(1, fits - 1)) + "\u2026" : text;
}

function draw() {
  const {rows, width} = picture, from = scroll.scrollTop, high = canvas.clientHeight;
  brush.clearRect(0, 0, width, high);
  brush.font = FONT;
  brush.textBaseline = "middle";
  letter = letter || brush.measureText("MMMMMMMMMM").width / 10;
  const line = isDark() ? "#17191c" : "#ffffff";
  for (let level = 0; level < rows.length; level++) {
    const y = top(level) - from;
    if (y + ROW < 0 || y > high) continue;
    for (const box of rows[level]) {
      if (box.count) {
        brush.fillStyle = isDark() ? "#4a5058" : "#c3c8ce";
        brush.fillRect(box.x, y, Math.max(0.6, box.w), ROW - 1);
        continue;
      }
      brush.globalAlpha = box.above ? 0.55 : 1;
      brush.fillStyle = colour(box.frame);
      brush.fillRect(box.x, y, box.w > 2 ? box.w - 0.5 : box.w, ROW - 1);
      brush.globalAlpha = 1;
      const text = label(box);
      if (text) { brush.fillStyle = "#14171a"; if (isDark() && box.above) brush.fillStyle = "#f2f4f6"; brush.fillText(text, box.x + 3, y + ROW / 2); }
    }
  }
  const ring = (frame, colour, wide) => {
    const box = boxOf(frame);
    if (!box) return;
    brush.lineWidth = wide;
    brush.strokeStyle = colour;
    brush.strokeRect(box.x + wide / 2, top(box.level) - from + wide / 2, Math.max(2, box.w - wide), ROW - 1 - wide);
  };
  if (picture.hover && picture.hover !== picture.chosen) ring(picture.hover, isDark() ? "#ffffff" : "#30363d", 1);
  if (picture.chosen) { ring(picture.chosen, line, 4); ring(picture.chosen, isDark() ? "#8ab4f8" : "#0b57d0", 2); }
}

// Where a frame is, if it is wide enough to be there.
function boxOf(frame) {
  const box = (picture.rows[frame.depth] || []).find(box => box.frame === frame && !box.count);
  return box && {...box, level: frame.depth};
}

function boxAt(x, y) {
  const row = picture.rows[levelAt(y)];
  return row && row.find(box => x >= box.x && x < box.x + Math.max(1, box.w));
}

// Lays out and draws anew. `keep` leaves what is scrolled as it is.
function redraw(keep) {
  const bottom = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight;
  picture.width = room.clientWidth;
  layout();
  fit();
  if (room.clientWidth !== picture.width) { picture.width = room.clientWidth; layout(); fit(); }
  if (!keep) scroll.scrollTop = picture.icicle ? 0 : scroll.scrollHeight;
  else if (!picture.icicle) scroll.scrollTop = scroll.scrollHeight - scroll.clientHeight - bottom;
  draw();
}

// Scrolls so far that a frame is in sight.
function show(frame) {
  const y = top(frame.depth);
  if (y < scroll.scrollTop) scroll.scrollTop = y;
  else if (y + ROW > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = y + ROW - scroll.clientHeight;
}
