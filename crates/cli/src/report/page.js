"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const main = document.getElementById("main");
  const nav = document.getElementById("nav");
  main.textContent = "";

  // What no font shows becomes a dot, and contents that are not text at all become hexadecimal.
  const HIDDEN = /[\p{C}\ufffd]/gu;
  const plain = text => text.replace(HIDDEN, "\u00b7");
  const contents = text => {
    const units = [...text].slice(0, 200), hidden = (units.join("").match(HIDDEN) || []).length;
    if (units.length === 0 || hidden * 4 < units.length) return plain(text);
    const hex = units.slice(0, 24).map(unit => unit.codePointAt(0).toString(16).padStart(2, "0")).join(" ");
    return "no text, in hexadecimal: " + hex + (units.length > 24 ? " \u2026" : "");
  };

  // Everything from the dump goes in as text.
  const make = (name, attributes, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key === "onclick" || key === "oninput" || key === "onchange") element[key] = value;
      else if (key === "style") element.style.cssText = value;
      else element.setAttribute(key, value);
    }
    for (const child of children.flat(Infinity)) if (child !== null && child !== undefined) element.append(typeof child === "string" ? plain(child) : child);
    return element;
  };
  const count = n => n.toLocaleString("en-US");
  const bytes = n => {
    if (n < 1000) return n + " B";
    let unit = -1;
    while (n >= 999.95 || unit < 0) { n /= 1000; unit++; }
    return n.toFixed(1) + " " + ["kB", "MB", "GB", "TB", "PB"][unit];
  };
  const live = Math.max(1, data.summary.live_bytes);
  const share = n => (100 * n / live).toFixed(1) + "%";
  const section = (id, title, ...children) => {
    nav.append(make("a", {href: "#" + id}, title));
    main.append(make("section", {id}, make("h2", null, title), ...children));
  };

  // Links to what else the page knows: an object by its identifier, a class by its name.
  const details = new Map(data.details.map(detail => [detail.id, detail]));
  const classes = new Map(data.classes.map(row => [row.name, row]));
  const link = (hash, text) => make("a", {href: "#" + encodeURIComponent(hash), class: "mono"}, text);
  const object = id => link("object=" + id, id);
  const classOf = name => link("class=" + name, name);
  // A sentence whose names of classes and identifiers are links.
  const linked = text => text.split(/(0x[0-9a-f]+|[A-Za-z_$][\w$]*(?:\.[\w$]+)*(?:\[\])*)/).map(part => classes.has(part) ? classOf(part) : details.has(part) ? object(part) : part);
  // A description starts with the name of its class.
  const describe = text => {
    const name = text.startsWith("class ") ? text.slice(6) : text.split(" ")[0];
    const at = text.indexOf(name);
    return make("span", {class: "mono"}, text.slice(0, at), classOf(name), contents(text.slice(at + name.length)));
  };
  const copier = (text, title) => make("button", {type: "button", class: "copy", title: "Copy " + (title || text), "aria-label": "Copy " + (title || text), onclick: event => {
    const button = event.currentTarget, done = () => { button.textContent = "copied"; setTimeout(() => { button.textContent = "copy"; }, 1200); };
    const byHand = () => {
      const area = make("textarea", {"aria-label": "Text to copy"});
      area.value = text;
      (button.closest("dialog") || document.body).append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      button.focus();
      done();
    };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, byHand); else byHand();
  }}, "copy");
  const quote = text => /^[\w.\/:@%+=-]+$/.test(text) ? text : "'" + text.replace(/'/g, "'\\''") + "'";
  const command = words => make("p", {class: "command"}, make("code", null, words), copier(words, "the command"));

  document.title = "Heap report: " + data.file;
  const taken = data.created_millis ? ", taken " + new Date(data.created_millis).toISOString().replace("T", " ").slice(0, 19) + " UTC" : "";
  document.getElementById("file").textContent = data.file + taken;
  document.getElementById("footer").textContent = data.model + " Made by hprof-rs " + data.version + ".";

  // A table that sorts by each column and filters by text.
  const table = (id, columns, rows, order) => {
    let sorted = order, descending = true, filter = "", shown = 50;
    const body = make("tbody");
    const heads = columns.map((column, index) => {
      const button = make("button", {type: "button", onclick: () => {
        if (sorted === index) descending = !descending; else { sorted = index; descending = !!column.number; }
        draw();
      }}, column.title);
      return make("th", {class: column.number ? "n" : "", scope: "col"}, button);
    });
    const state = make("span", {class: "crumbs"});
    const more = make("button", {class: "more", type: "button", onclick: () => { shown += 200; draw(); }}, "Show more");
    const draw = () => {
      const text = filter.toLowerCase();
      const found = rows.filter(row => !text || columns.some((column, index) => !column.number && String(row[index]).toLowerCase().includes(text)));
      found.sort((a, b) => {
        const [x, y] = [a[sorted], b[sorted]];
        const by = columns[sorted].number ? x - y : String(x).localeCompare(String(y));
        return descending ? -by : by;
      });
      heads.forEach((head, index) => {
        head.setAttribute("aria-sort", index === sorted ? (descending ? "descending" : "ascending") : "none");
        head.firstChild.textContent = columns[index].title + (index === sorted ? (descending ? " \u2193" : " \u2191") : "");
      });
      body.replaceChildren(...found.slice(0, shown).map(row => make("tr", null, columns.map((column, index) => {
        const cell = make("td", {class: column.number ? "n" : "name", "data-title": column.title}, column.cell ? column.cell(row[index]) : column.show ? column.show(row[index]) : column.number ? count(row[index]) : row[index]);
        if (column.bar) cell.append(make("span", {class: "fill", style: "width:" + Math.min(100, 100 * row[index] / live) + "%"}));
        return cell;
      }))));
      state.textContent = count(found.length) + " of " + count(rows.length) + " rows";
      more.hidden = found.length <= shown;
    };
    const input = make("input", {type: "search", placeholder: "Filter", "aria-label": "Filter", oninput: () => { filter = input.value; shown = 50; draw(); }});
    draw();
    return make("div", {id}, make("div", {class: "bar-tools"}, input, state),
      make("div", {class: "scroll"}, make("table", null, make("thead", null, make("tr", null, heads)), body)), more);
  };

  // What an Android dump tells of device and program.
  const androidLines = facts => {
    const known = value => value === null ? "unknown" : String(value);
    return "Device " + known(facts.manufacturer) + " " + known(facts.model) + ", Android " + known(facts.release) +
      " (SDK " + known(facts.sdk) + "); process " + known(facts.process) + ", version " + known(facts.version) +
      (facts.version_code === null ? "" : " (" + facts.version_code + ")") + ".";
  };

  // Summary.
  const s = data.summary;
  section("summary", "Summary",
    data.notes.map(note => make("p", {class: "note"}, note)),
    data.android ? make("p", {id: "android"}, androidLines(data.android)) : null,
    make("div", {class: "cards"}, [
      [bytes(s.live_bytes), "alive"], [count(s.live_objects), "live objects"],
      [bytes(s.unreached_bytes), "not reached from roots"], [count(s.classes), "classes"],
      [count(s.loaders), "class loaders"], [count(s.threads), "threads"], [count(s.roots), "roots"],
      [bytes(data.duplicates.wasted_bytes), "in equal arrays and strings"],
    ].concat(s.direct_buffers && s.direct_buffers.buffers ?
      [[bytes(s.direct_buffers.capacity), "outside of the heap in " + count(s.direct_buffers.buffers) + " direct buffers"]] : []).map(([value, title]) => make("div", {class: "card"}, make("b", null, value), make("span", null, title)))));

  // Suspects. Marks say of each step whether it should be there.
  const words = {leaking: "should be gone", not_leaking: "should be there", unknown: "may be to blame or not"};
  const path = (p, marks, suspects) => {
    const step = (step, index) => make("li", null,
      step.edge ? make("span", {class: "edge mono" + (suspects && suspects.includes(index) ? " blame" : "")}, edge(step.edge) + " \u2192 ") : null,
      describe(step.description), " ",
      make("span", {class: "bytes"}, object(step.id), ", keeps " + bytes(step.retained_bytes)),
      marks && marks[index].status !== "unknown" ? make("div", {class: "mark " + marks[index].status}, words[marks[index].status] + (marks[index].reason ? ": " + marks[index].reason : "")) : null,
      marks ? marks[index].labels.map(label => make("div", {class: "mark"}, label)) : null);
    // The middle of a long path is hidden; other parts were left out before.
    const [head, tail] = p.steps.length > 30 ? [15, p.steps.length - 15] : [p.steps.length, p.steps.length], steps = [];
    let hidden = 0;
    p.steps.forEach((one, index) => {
      hidden += one.more || 0;
      if (index >= head && index < tail) return hidden++;
      if (hidden) steps.push(make("li", null, count(hidden) + " more"));
      hidden = 0;
      steps.push(step(one, index));
    });
    return make("ul", {class: "path"}, make("li", null, make("span", {class: "edge"}, p.root)), steps);
  };
  const edge = e => e.kind === "field" ? "." + e.name + (e.reference ? " (" + e.reference + ")" : "") : e.kind === "static" ? "." + e.name + " (static)" : e.kind === "element" ? "[" + e.name + "]" : e.name;
  const shares = rows => make("ul", null, rows.slice(0, 8).map(row => make("li", null, bytes(row.bytes) + " in " + count(row.objects) + " \u00d7 ", classOf(row.name))));
  if (data.dead_objects.length) section("dead", "Objects that should be gone",
    make("p", null, "Their life is over, and still something refers to them. One of the references that are underlined is the cause."),
    data.dead_objects.map(trace => make("article", {class: "suspect"},
      make("h3", null, count(trace.count) + " \u00d7 " + trace.path.steps[trace.path.steps.length - 1].description + ", " + (trace.is_at_least ? "at least " : "") + bytes(trace.retained_bytes) + " kept alive" +
        (trace.missing_pixel_bytes ? ", and pixels that the file lacks: an estimated " + bytes(trace.missing_pixel_bytes) : "")),
      trace.library_leak ? make("p", null, "A known leak of Android itself: " + trace.library_leak + ".") : null,
      path(trace.path, trace.marks, trace.suspects))));
  if (data.observations.length) section("observations", "Observations",
    data.observations.map(said => make("article", {class: "suspect"},
      make("h3", null, linked(said.headline)),
      make("ul", null, said.sentences.map(text => make("li", null, linked(text)))))));
  const named = data.leaks.suspects.length > 0;
  const shown = named ? data.leaks.suspects : [data.leaks.largest].filter(Boolean);
  section("suspects", "Leak suspects",
    named ? null : make("p", null, "Nothing of the program keeps " + Math.round(100 * data.leaks.threshold) + "% of the heap alive by itself. The largest part is:"),
    shown.map((suspect, index) => make("article", {class: "suspect"},
      make("h3", null, (index + 1) + ". ", linked(suspect.headline)),
      make("div", {class: "share", role: "img", "aria-label": (100 * suspect.share).toFixed(1) + "% of the heap"}, make("div", {style: "width:" + Math.min(100, 100 * suspect.share) + "%"})),
      make("ul", null, suspect.sentences.map(text => make("li", null, linked(text)))),
      make("details", index === 0 ? {open: ""} : null, make("summary", null, "What keeps it alive"), path(suspect.path)),
      make("details", null, make("summary", null, "What it keeps alive, directly"), shares(suspect.children)),
      make("details", null, make("summary", null, "All it keeps alive, by class"), shares(suspect.contents)),
      make("p", null, "Where memory piles up: ", object(suspect.accumulation_id), " ", copier(suspect.accumulation_id)),
      command("hprof-rs paths " + quote(data.file) + " " + suspect.accumulation_id),
      suspect.sites.length ? make("details", null, make("summary", null, "Where it was allocated"),
        suspect.sites.map(site => make("div", null, count(site.objects) + " of " + count(site.of) + " objects looked at", make("ul", {class: "frames mono"}, site.stack.map(frame => make("li", null, frame)))))) : null)));

  // The dominator tree as a map of areas, laid out by squarified rows (Bruls, Huizing, van Wijk, 2000).
  const map = make("div", {class: "map"});
  const crumbs = make("div", {class: "crumbs"});
  const root = {name: "Live heap", id: "", bytes: live, children: data.tree};
  const palette = ["#9cc3f5", "#f7c58f", "#a8dbb0", "#e6b3dc", "#f3e08c", "#b9b8ee", "#9fdede", "#f2b0a9"];
  const colour = name => { let h = 0; for (const c of name.split(/[ @]/)[0] + name.split(" ")[1]) h = (h * 31 + c.charCodeAt(0)) >>> 0; return palette[h % palette.length]; };
  const lay = (nodes, x, y, w, h, total, put) => {
    nodes = nodes.filter(node => node.bytes > 0).sort((a, b) => b.bytes - a.bytes);
    while (nodes.length && total > 0) {
      const short = Math.min(w, h), scale = w * h / total;
      let row = [], sum = 0, worst = Infinity;
      for (const node of nodes) {
        const next = sum + node.bytes, side = next * scale / short;
        const ratio = Math.max(...[...row, node].map(n => { const l = n.bytes * scale / side; return Math.max(side / l, l / side); }));
        if (ratio > worst) break;
        row.push(node); sum = next; worst = ratio;
      }
      const side = sum * scale / short;
      let at = 0;
      for (const node of row) {
        const l = node.bytes * scale / side;
        if (w >= h) put(node, x, y + at, side, l); else put(node, x + at, y, l, side);
        at += l;
      }
      if (w >= h) { x += side; w -= side; } else { y += side; h -= side; }
      total -= sum; nodes = nodes.slice(row.length);
      if (w < 1 || h < 1) break;
    }
  };
  const zoom = way => {
    const node = way[way.length - 1];
    crumbs.replaceChildren(...way.flatMap((step, index) => [index ? " \u203a " : "", make("button", {type: "button", onclick: () => zoom(way.slice(0, index + 1))}, step.name)]), " " + bytes(node.bytes) + ", " + share(node.bytes) + " ", node.id ? object(node.id) : "", node.id ? copier(node.id) : "");
    const box = map.getBoundingClientRect();
    map.replaceChildren();
    const draw = (parent, trail, x, y, w, h, depth) => lay(parent.children, x, y, w, h, parent.bytes, (child, cx, cy, cw, ch) => {
      if (cw < 3 || ch < 3) return;
      const next = [...trail, child];
      const area = make("div", {title: child.name + "\n" + bytes(child.bytes) + ", " + share(child.bytes) + "\n" + child.id,
        style: `left:${cx}px;top:${cy}px;width:${cw}px;height:${ch}px;background:${colour(child.name)}`,
        onclick: event => { event.stopPropagation(); if (child.children.length) zoom(next); else if (details.has(child.id)) location.hash = "#" + encodeURIComponent("object=" + child.id); }}, ch > 16 && cw > 30 ? child.name + "  " + bytes(child.bytes) : "");
      map.append(area);
      if (depth > 1 && ch > 60 && cw > 60 && child.children.length) draw(child, next, cx + 2, cy + 19, cw - 4, ch - 21, depth - 1);
    });
    draw(node, way, 0, 0, box.width - 2, box.height - 2, 4);
  };
  section("map", "What keeps the heap alive",
    make("p", null, "Each area is an object with all it keeps alive; areas within it are objects that it alone keeps alive. Click to look inside; small objects are one area for each class. What is not covered is the object itself."),
    crumbs, map);
  let way = [root];
  zoom(way);
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; zoom(way); } });

  // Tables.
  const number = title => ({title, number: true});
  const size = (title, bar) => ({title, number: true, show: bytes, bar});
  const rows = list => list.map(row => [row.retained_bytes, row.retained_bytes, row.shallow_bytes, row.objects, row.name]);
  const columns = (name, cell) => [{title: "Share", number: true, show: share, bar: true}, size("Retained"), size("Shallow"), number("Objects"), {title: name, cell}];
  section("classes", "Classes", table("class-table", columns("Class", classOf), rows(data.classes), 1));
  section("packages", "Packages", table("package-table", columns("Package"), rows(data.packages), 1));
  section("loaders", "Class loaders", table("loader-table", columns("Loader"), rows(data.loaders), 1));
  section("objects", "Largest objects", table("object-table",
    [{title: "Share", number: true, show: share, bar: true}, size("Retained"), size("Shallow"), {title: "Object", cell: describe}, {title: "Id", cell: id => [object(id), " ", copier(id)]}],
    data.objects.map(row => [row.retained_bytes, row.retained_bytes, row.shallow_bytes, row.description, row.id]), 1));

  section("threads", "Threads", data.threads.length ? null : make("p", null, "The dump has no threads."),
    data.threads.map(thread => {
      const locals = frame => thread.locals.filter(local => local[0] === frame).map(local => make("div", {class: "local"}, describe(local[1]), " ", object(local[3]), ", keeps " + bytes(local[2])));
      return make("details", null, make("summary", null, thread.name + " \u2014 keeps " + bytes(thread.retained_bytes)),
        make("ul", {class: "frames mono"}, thread.stack.map((frame, index) => make("li", null, frame, locals(index))),
          thread.locals.some(local => local[0] === null) ? make("li", null, "without a frame", locals(null)) : null));
    }));

  section("strings", "Equal strings and arrays",
    make("p", null, (data.duplicates.strings === null ? "" : count(data.duplicates.strings) + " strings: equal ones waste " + bytes(data.duplicates.wasted_in_strings) + ", with their arrays. ") + "Equal live arrays of primitives waste " + bytes(data.duplicates.wasted_bytes) + "."),
    table("string-table", [size("Wasted"), number("Times"), size("Each"), {title: "Kind"}, {title: "Content", cell: contents}],
      data.duplicates.groups.map(group => [group.wasted_bytes, group.count, group.bytes, group.is_string ? "String" : group.element + "[]", group.preview]), 0));

  section("properties", "System properties", data.properties.length
    ? table("property-table", [{title: "Name"}, {title: "Value"}], data.properties, 0)
    : make("p", null, "The dump has none."));

  // An object or class that the address names, over the page; "back" closes it.
  const box = make("dialog", {"aria-label": "Details"});
  document.body.append(box);
  const title = (name, text) => make("h2", null, name, " ", copier(text));
  const showObject = detail => {
    const places = [];
    shown.forEach((suspect, index) => { if (suspect.path.steps.some(step => step.id === detail.id)) places.push(make("li", null, "on the path to ", link("suspects", named ? "suspect " + (index + 1) : "the largest object"))); });
    data.threads.forEach(thread => { if (thread.locals.some(local => local[3] === detail.id)) places.push(make("li", null, "on the stack of the thread ", make("a", {href: "#threads"}, thread.name))); });
    return [title(detail.id, detail.id), make("p", null, describe(detail.description)),
      make("p", null, "Class ", classOf(detail.class), "; " + bytes(detail.shallow_bytes) + " itself; keeps " + bytes(detail.retained_bytes) + " alive, " + share(detail.retained_bytes) + " of the heap."),
      detail.held_by ? make("p", null, "Gone if ", object(detail.held_by), " were.") : null,
      places.length ? make("ul", null, places) : null,
      detail.fields.length ? make("div", {class: "scroll", tabindex: "0"}, make("table", null, make("tbody", null, detail.fields.map(([name, value, id]) => {
        const text = id && value.endsWith(" " + id) ? value.slice(0, -id.length - 1) : value;
        return make("tr", null, make("td", {class: "mono"}, name), make("td", {class: "name"}, id ? [describe(text), " ", object(id)] : make("span", {class: "mono"}, contents(text))));
      })))) : null,
      detail.fields_left_out ? make("p", null, count(detail.fields_left_out) + " more") : null,
      ["object", "paths", "referrers"].map(name => command("hprof-rs " + name + " " + quote(data.file) + " " + detail.id))];
  };
  const showClass = row => {
    const largest = data.details.filter(detail => detail.class === row.name).sort((a, b) => b.retained_bytes - a.retained_bytes).slice(0, 30);
    return [title(row.name, row.name),
      make("p", null, count(row.objects) + " objects, " + bytes(row.shallow_bytes) + " themselves; they keep " + bytes(row.retained_bytes) + " alive, " + share(row.retained_bytes) + " of the heap."),
      largest.length ? make("h3", null, "Those that this page names") : null,
      make("ul", null, largest.map(detail => make("li", null, describe(detail.description), " ", object(detail.id), ", keeps " + bytes(detail.retained_bytes)))),
      command("hprof-rs retained " + quote(data.file) + " " + quote(row.name))];
  };
  const showOther = (isObject, key) => [title(key, key), make("p", null, "This page has no room for more about it. These commands tell it:"),
    (isObject ? ["object", "paths", "referrers"] : ["retained", "histogram --filter"]).map(name => command("hprof-rs " + (name === "histogram --filter" ? "histogram --filter " + quote(key) + " " + quote(data.file) : name + " " + quote(data.file) + " " + quote(key))))];
  const route = () => {
    let hash = "";
    try { hash = decodeURIComponent(location.hash.slice(1)); } catch { /* no address of ours */ }
    const [kind, key] = [hash.slice(0, hash.indexOf("=")), hash.slice(hash.indexOf("=") + 1)];
    const isObject = kind === "object" && /^0x[0-9a-f]+$/.test(key);
    if (!isObject && (kind !== "class" || !key)) { if (box.open) box.close(); return; }
    const found = isObject ? details.get(key) : classes.get(key);
    box.replaceChildren(make("button", {type: "button", class: "close", onclick: () => box.close()}, "Close"),
      ...(!found ? showOther(isObject, key) : isObject ? showObject(found) : showClass(found)).flat(Infinity).filter(part => part));
    if (!box.open) box.showModal();
    box.scrollTop = 0;
  };
  // Closed by hand, the address must not name it any more.
  box.addEventListener("close", () => { if (/^#(object|class)%3D/.test(location.hash)) history.pushState(null, "", location.pathname + location.search); });
  addEventListener("hashchange", route);
  addEventListener("popstate", route);
  route();
})();
