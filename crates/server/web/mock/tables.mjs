// Tables as the server answers them: sorted, filtered, by pages.
export class Problem extends Error {
  constructor(status, title, detail) {
    super(title);
    Object.assign(this, { status, title, detail });
  }
}

export const col = (key, kind = "text", label = key[0].toUpperCase() + key.slice(1).replaceAll("_", " ")) => ({ key, label, kind });

/** `rows` is a list, or {length, at} for tables that are too long to make. */
export function table(columns, rows, query, notes = []) {
  const text = columns.find((column) => column.kind === "text")?.key;
  const filter = query.get("filter");
  const sort = query.get("sort");
  let found = rows;
  if (filter) {
    let pattern;
    try {
      pattern = new RegExp(filter, "i");
    } catch {
      throw new Problem(400, "bad-filter", `"${filter}" is not a regular expression.`);
    }
    found = list(found).filter((row) => pattern.test(String(row[text])));
  }
  if (sort && (Array.isArray(found) || found.length < 2000)) {
    const key = sort.replace(/^-/, "");
    const by = sort.startsWith("-") ? -1 : 1;
    found = [...list(found)].sort((a, b) => by * (typeof a[key] === "number" ? a[key] - b[key] : String(a[key]).localeCompare(String(b[key]))));
  }
  const limit = Math.min(1000, Number(query.get("limit") ?? 100));
  const from = Number(query.get("cursor") ?? query.get("offset") ?? 0);
  const to = Math.min(found.length, from + limit);
  const page = [];
  for (let at = from; at < to; at++) page.push(Array.isArray(found) ? found[at] : found.at(at));
  return { columns, rows: page, total: found.length, next: to < found.length ? String(to) : null, notes, pending: false };
}

const list = (rows) => (Array.isArray(rows) ? rows : Array.from({ length: Math.min(rows.length, 20000) }, (_, at) => rows.at(at)));
