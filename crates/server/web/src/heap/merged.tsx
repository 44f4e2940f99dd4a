// The paths from roots to all instances of a class, as one tree. It comes whole, so it is a plain tree.
import { useState } from "preact/hooks";
import { useGet } from "../api/client";
import type { Dump, MergedAnswer, MergedNode } from "../api/types";
import { selectClass } from "../grid/actions";
import { count, percent } from "../format";
import { A, Bar, Empty, Name, Notes, Problem, Skeleton } from "../parts/basics";
import { Icon } from "../parts/icon";
import { address } from "../route";
import { texts } from "../texts";

export function Merged({ dump }: { dump: Dump }) {
  const t = texts.value;
  const id = address.value.query.get("class");
  const objects = address.value.query.get("objects");
  const of = objects ? `objects/${encodeURIComponent(objects)}` : id ? `classes/${encodeURIComponent(id)}` : null;
  const { value, failure, again } = useGet<MergedAnswer>(of ? `dumps/${dump.id}/${of}/paths` : null);
  if (!of) return <Empty>{t.table.empty}</Empty>;
  return (
    <div class="page-body">
      {objects && value && <p>{texts.value.sql.picked(count(value.count), count(objects.split(",").length))}</p>}
      {!objects && id && <p class="crumbs">
        <A href={`/dumps/${dump.id}/histogram`}>{t.views["histogram"]![0]}</A> ›{" "}
        <A href={selectClass(id)}>
          <Name text={address.value.query.get("name") ?? id} />
        </A>
      </p>}
      {failure && <Problem failure={failure} again={again} />}
      {!value && !failure && <Skeleton />}
      {value && (
        <>
          <Notes notes={value.notes} />
          <ul class="merged">
            {value.children.map((child, index) => (
              <Branch key={index} node={child} open={index === 0} />
            ))}
          </ul>
          {!value.children.length && <Empty>{t.inspector.noPath}</Empty>}
        </>
      )}
    </div>
  );
}

const MAX_CHILDREN = 50;

function Branch({ node, open = false }: { node: MergedNode; open?: boolean }) {
  const t = texts.value.suspects;
  const kids = node.children ?? [];
  const [isOpen, setOpen] = useState(open);
  const [shown, setShown] = useState(MAX_CHILDREN);
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
        <Bar share={node.percent} />
        <span class="dim number">{t.passes(count(node.count), percent(node.percent))}</span>
        {node.repeated > 1 && <span class="label">{t.repeated(count(node.repeated))}</span>}
      </div>
      {isOpen && kids.length > 0 && (
        <ul>
          {kids.slice(0, shown).map((kid, index) => (
            <Branch key={index} node={kid} open={index === 0 && node.percent > 50} />
          ))}
          {kids.length > shown && (
            <li>
              <button type="button" class="link" onClick={() => setShown(shown + MAX_CHILDREN)}>
                {texts.value.table.moreRows(count(Math.min(MAX_CHILDREN, kids.length - shown)))}
              </button>
            </li>
          )}
        </ul>
      )}
    </li>
  );
}
