// The paths from roots to all instances of a class, as one tree. It comes whole, so it is a plain tree.
import { useState } from "preact/hooks";
import { useGet } from "../api/client";
import type { Dump, MergedNode } from "../api/types";
import { selectClass } from "../grid/actions";
import { bytes, count } from "../format";
import { A, Empty, Name, Problem, Skeleton } from "../parts/basics";
import { Icon } from "../parts/icon";
import { address } from "../route";
import { texts } from "../texts";

export function Merged({ dump }: { dump: Dump }) {
  const t = texts.value;
  const id = address.value.query.get("class");
  const { value, failure, again } = useGet<MergedNode>(id ? `dumps/${dump.id}/classes/${encodeURIComponent(id)}/paths` : null);
  if (!id) return <Empty>{t.table.empty}</Empty>;
  return (
    <div class="page-body">
      <p class="crumbs">
        <A href={`/dumps/${dump.id}/histogram`}>{t.views["histogram"]![0]}</A> ›{" "}
        <A href={selectClass(id)}>
          <Name text={address.value.query.get("name") ?? id} />
        </A>
      </p>
      {failure && <Problem failure={failure} again={again} />}
      {!value && !failure && <Skeleton />}
      {value && (
        <ul class="merged">
          <Branch node={value} open />
        </ul>
      )}
    </div>
  );
}

const MAX_CHILDREN = 50;

function Branch({ node, open = false }: { node: MergedNode; open?: boolean }) {
  const t = texts.value.suspects;
  const kids = node.children ?? [];
  const [isOpen, setOpen] = useState(open);
  return (
    <li>
      <div class="merged-line">
        {kids.length ? (
          <button type="button" class="twist" aria-expanded={isOpen} aria-label={texts.value.table.expand} onClick={() => setOpen(!isOpen)}>
            <Icon name={isOpen ? "down" : "right"} />
          </button>
        ) : (
          <span class="twist" />
        )}
        <Name text={node.name} />
        <span class="number dim">× {count(node.count)}</span>
        <span class="dim">{t.keeps(bytes(node.bytes))}</span>
      </div>
      {isOpen && kids.length > 0 && (
        <ul>
          {kids.slice(0, MAX_CHILDREN).map((kid, index) => (
            <Branch key={index} node={kid} open={kids.length === 1} />
          ))}
        </ul>
      )}
    </li>
  );
}
