// Whether the page is as narrow as a phone; the style sheets ask the same.
import { signal } from "@preact/signals";

const query = matchMedia("(max-width: 700px)");
export const narrow = signal(query.matches);
query.addEventListener("change", () => (narrow.value = query.matches));
