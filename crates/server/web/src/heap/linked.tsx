// A sentence of the server whose identifiers of objects are links to the inspector.
import { selectObject } from "../grid/actions";
import { abridgedIn, shown } from "../format";
import { A } from "../parts/basics";

export function Linked({ text, object }: { text: string; object?: string | null }) {
  const parts = abridgedIn(shown(text)).split(/(0x[0-9a-f]{2,16})\b/);
  if (parts.length === 1 && object) return <A href={selectObject(object)}>{parts[0]}</A>;
  return (
    <bdi>
      {parts.map((part, index) =>
        index % 2 ? (
          <A key={index} href={selectObject(part)} class="mono">
            {part}
          </A>
        ) : (
          part
        ),
      )}
    </bdi>
  );
}
