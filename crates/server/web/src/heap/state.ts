// Sort and filter of a view, kept in its address.
import { address, setQuery } from "../route";
import type { Kept } from "../grid/table";

export function useAddressState(): Kept {
  const { query } = address.value;
  return {
    sort: query.get("sort"),
    filter: query.get("filter") ?? "",
    open: query.get("open") ?? "",
    // Each sort and filter replaces the one before: "back" leads to the view before.
    set: (part) => setQuery(part, true),
  };
}
