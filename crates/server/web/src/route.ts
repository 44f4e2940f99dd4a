// The address is the state: view, selection, sort and filter are in it, so a link restores them.
import { signal } from "@preact/signals";

export interface Address {
  path: string;
  query: URLSearchParams;
}

const read = (): Address => ({ path: location.pathname, query: new URLSearchParams(location.search) });

export const address = signal<Address>(read());

addEventListener("popstate", () => {
  address.value = read();
});

/** Goes to an address of this page; `replace` leaves no step behind for "back". */
export function go(to: string, replace = false): void {
  if (to === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", to);
  address.value = read();
}

export type Changes = Record<string, string | null | undefined>;

/** The address with some parameters changed; null and "" remove one. */
export function withQuery(changes: Changes, at: Address = address.value): string {
  const query = new URLSearchParams(at.query);
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined) continue;
    if (value === null || value === "") query.delete(key);
    else query.set(key, value);
  }
  const text = query.toString();
  return at.path + (text ? "?" + text : "");
}

export function setQuery(changes: Changes, replace = false): void {
  go(withQuery(changes), replace);
}

/** An address from a path and parameters. */
export function to(path: string, query: Changes = {}): string {
  return withQuery(query, { path, query: new URLSearchParams() });
}

/** Takes over plain clicks; those with a modifier open tabs and windows as everywhere. */
export function follow(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const anchor = event.currentTarget as HTMLAnchorElement;
  event.preventDefault();
  go(anchor.pathname + anchor.search);
}
