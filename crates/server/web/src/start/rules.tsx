// The rules of a dump: how many it breaks, and each with its verdict.
import type { Dump, Verdict } from "../api/types";
import { shown } from "../format";
import { Icon } from "../parts/icon";
import { texts } from "../texts";

const broken = (rules: Verdict[]) => rules.filter((rule) => rule.passed === false).length;

/** One word or two among the facts of a dump. */
export function RuleCount({ dump }: { dump: Dump }) {
  const t = texts.value.rules;
  const rules = dump.rules ?? [];
  if (!rules.length) return null;
  const isOpen = rules.every((rule) => rule.passed === null);
  const bad = broken(rules);
  return <span class={bad ? "bad" : undefined}>{isOpen ? t.open(rules.length) : bad ? t.broken(bad, rules.length) : t.kept(rules.length)}</span>;
}

/** All rules with their verdicts. */
export function Rules({ dump }: { dump: Dump }) {
  const t = texts.value.rules;
  const rules = dump.rules ?? [];
  if (!rules.length) return null;
  return (
    <section aria-labelledby="rules">
      <h2 id="rules">{t.title}</h2>
      <ul class="rules">
        {rules.map((rule) => (
          <li key={rule.rule} class={rule.passed === false ? "bad" : undefined}>
            {rule.passed === false && <Icon name="alert" />} <code>{shown(rule.rule)}</code> <span>{rule.sentence ? shown(rule.sentence) : t.waits}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
