// The views of a heap dump. Those with `table` are a table of the server and nothing else.
export interface TableView {
  /** Below /dumps/{id}/ */
  path: string;
  by?: string[];
  /** Rows are expanded by `node`; or only those of some groupings are. */
  tree?: boolean | string[];
  /** The order that the server gives by itself. */
  order?: string;
}

export interface View {
  id: string;
  group: "summary" | "memory" | "program" | "waste" | "facts" | "tools";
  table?: TableView;
  /** Reached from rows, not from the list. */
  hidden?: boolean;
}

const KINDS = ["class", "superclass", "package", "loader"];

export const VIEWS: View[] = [
  { id: "overview", group: "summary" },
  { id: "suspects", group: "summary" },
  { id: "dominators", group: "memory", table: { path: "dominators", by: ["object", "class", "package", "loader"], tree: true, order: "-retained" } },
  { id: "treemap", group: "memory" },
  { id: "histogram", group: "memory", table: { path: "histogram", by: KINDS, tree: ["superclass"], order: "-retained" } },
  { id: "roots", group: "memory", table: { path: "roots" } },
  { id: "unreachable", group: "memory", table: { path: "unreachable" } },
  { id: "threads", group: "program" },
  { id: "loaders", group: "program", table: { path: "loaders" } },
  { id: "duplicate-classes", group: "program", table: { path: "duplicate-classes", tree: true } },
  { id: "buffers", group: "program", table: { path: "buffers" } },
  { id: "references", group: "program", table: { path: "references" } },
  { id: "sites", group: "program", table: { path: "sites" } },
  { id: "android", group: "program", table: { path: "android" } },
  { id: "duplicates", group: "waste", table: { path: "duplicates" } },
  { id: "collections", group: "waste", table: { path: "collections" } },
  { id: "properties", group: "facts", table: { path: "properties" } },
  { id: "environment", group: "facts", table: { path: "environment" } },
  { id: "sql", group: "tools" },
  { id: "compare", group: "tools" },
  { id: "instances", group: "memory", hidden: true },
  { id: "merged", group: "memory", hidden: true },
  { id: "class-references", group: "memory", hidden: true },
];

export const GROUPS: View["group"][] = ["summary", "memory", "program", "waste", "facts", "tools"];
