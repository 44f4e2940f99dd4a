"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("main");
const nav = document.getElementById("nav");
main.textContent = "";

// What no font shows becomes a dot.
const plain = text => text.replace(/[\p{C}\ufffd]/gu, "\u00b7");

// Everything from the file goes in as text.
const fill = (element, attributes, children) => {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) element[key] = value;
    else element.setAttribute(key, value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined && child !== false) element.append(typeof child === "string" ? plain(child) : child);
  return element;
};
const make = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
const draw = (name, attributes, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

const none = "\u2013";
const count = n => n === null || n === undefined ? none : n.toLocaleString("en-US");
// As JVM options and logs have sizes, in units of 1024.
const bytes = n => {
  if (n === null || n === undefined) return none;
  if (n < 1024) return Math.round(n) + "B";
  let unit = -1;
  while (n >= 1023.95 || unit < 0) { n /= 1024; unit++; }
  return n.toFixed(1) + "KMGTP"[unit];
};
const millis = n => n === null || n === undefined ? none : n >= 60000 ? (n / 60000).toFixed(1) + " min" : n >= 1000 ? (n / 1000).toFixed(2) + " s" : n >= 10 ? n.toFixed(1) + " ms" : n.toFixed(3) + " ms";
const percent = n => n === null || n === undefined ? none : (100 * n).toFixed(2) + "%";
const clock = ms => {
  const s = Math.floor(ms / 1000), two = n => String(n).padStart(2, "0");
  return s < 60 ? (ms / 1000).toFixed(s < 10 ? 2 : 1) + " s" : s < 3600 ? Math.floor(s / 60) + ":" + two(s % 60) : Math.floor(s / 3600) + ":" + two(Math.floor(s / 60) % 60) + ":" + two(s % 60);
};
const section = (id, title, ...children) => {
  nav.append(make("a", {href: "#" + id}, title));
  const found = make("section", {id}, make("h2", null, title), ...children);
  main.append(found);
  return found;
};
const cards = list => make("div", {class: "cards"}, list.filter(card => card).map(([value, title]) => make("div", {class: "card"}, make("b", null, value), make("span", null, title))));

// A table that sorts by each column; one of many rows has a filter and a button for more of them.
const table = (id, columns, rows, order) => {
  let sorted = order, descending = true, filter = "", shown = 30;
  const body = make("tbody");
  const heads = columns.map((column, index) => make("th", {class: column.number ? "n" : "", scope: "col"}, make("button", {type: "button", onclick: () => {
    if (sorted === index) descending = !descending; else { sorted = index; descending = !!column.number; }
    show();
  }}, column.title)));
  const state = make("span", {class: "crumbs"});
  const more = make("button", {class: "more", type: "button", onclick: () => { shown += 200; show(); }}, "Show more");
  const show = () => {
    const text = filter.toLowerCase();
    const found = rows.filter(row => !text || columns.some((column, index) => !column.number && String(row[index]).toLowerCase().includes(text)));
    if (sorted !== null) found.sort((a, b) => {
      const [x, y] = [a[sorted], b[sorted]];
      const by = columns[sorted].number ? (x ?? -1) - (y ?? -1) : String(x).localeCompare(String(y));
      return descending ? -by : by;
    });
    heads.forEach((head, index) => {
      head.setAttribute("aria-sort", index === sorted ? (descending ? "descending" : "ascending") : "none");
      head.firstChild.textContent = columns[index].title + (index === sorted ? (descending ? " \u2193" : " \u2191") : "");
    });
    body.replaceChildren(...found.slice(0, shown).map(row => make("tr", null, columns.map((column, index) =>
      make("td", {class: column.number ? "n" : "name", "data-title": column.title}, column.show ? column.show(row[index], row) : column.number ? count(row[index]) : String(row[index] ?? ""))))));
    state.textContent = count(found.length) + " of " + count(rows.length) + " rows";
    more.hidden = found.length <= shown;
  };
  const input = make("input", {type: "search", placeholder: "Filter", "aria-label": "Filter", oninput: () => { filter = input.value; shown = 30; show(); }});
  show();
  return make("div", {id}, rows.length > 10 ? make("div", {class: "bar-tools"}, input, state) : null,
    make("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Table"}, make("table", null, make("thead", null, make("tr", null, heads)), body)), more);
};
const foot = () => { document.getElementById("footer").textContent = "Made by hprof-rs " + data.version + "."; };
