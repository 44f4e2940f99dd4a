// What the visitor's token allows. The server decides; the page only leaves out what it would refuse.
import { useGet } from "./client";
import type { ServerFacts } from "./types";

const RANKS = ["reader", "uploader", "admin"];

/** True if a role allows what `needed` does; until the role is known, everything is shown. */
export function useMay(needed: "uploader" | "admin"): boolean {
  const role = useGet<ServerFacts>("server").value?.role;
  const rank = role === undefined ? -1 : RANKS.indexOf(role);
  return rank < 0 || rank >= RANKS.indexOf(needed);
}
