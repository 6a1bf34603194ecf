/** What a target would reach, and why: nothing is sent to a minion. */
import { useEffect, useState } from "preact/hooks";
import { Failure } from "../parts/notices.tsx";
import { type Polled, usePolled } from "../parts/polled.ts";
import type { ApiClient, Target } from "../session/client.ts";
import { type Explained, silentLines, termLines, unknownLines } from "../views/fleet-view.ts";
import { count, minions } from "../views/texts.ts";

const targetTypes = {
  glob: "Glob on the id",
  list: "List of ids",
  pcre: "Regular expression",
  grain: "Grain",
  grain_pcre: "Grain, regular expression",
  pillar: "Pillar",
  nodegroup: "Nodegroup",
  compound: "Compound",
  ipcidr: "Address or network",
  range: "Range",
} as const;

const typingMs = 300;

type FieldsProps = { readonly target: Target; readonly onChange: (target: Target) => void };

export function TargetFields({ target, onChange }: FieldsProps) {
  return (
    <div class="fields">
      <label class="grow">
        Target
        <input
          class="code"
          value={target.tgt}
          spellcheck={false}
          required
          onInput={({ currentTarget }) => onChange({ ...target, tgt: currentTarget.value })}
        />
      </label>
      <label>
        Kind of target
        <select
          value={target.tgt_type}
          onChange={({ currentTarget }) => onChange({ ...target, tgt_type: currentTarget.value })}
        >
          {Object.entries(targetTypes).map(([kind, name]) => (
            <option key={kind} value={kind}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

/** Asks once the operator has stopped typing. */
export function useExplained(client: ApiClient, target: Target): Polled<Explained | undefined> {
  const [settled, setSettled] = useState(target);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(target), typingMs);
    return () => clearTimeout(timer);
  }, [target]);
  return usePolled(JSON.stringify(settled), 0, async () => {
    if (settled.tgt.trim() === "") return undefined;
    return await client.read<Explained>("wheel", "saltworks.explain_target", settled);
  });
}

export function TargetPreview({ explained }: { readonly explained: Polled<Explained | undefined> }) {
  const { value, error } = explained;
  if (error !== undefined) return <Failure text={error} />;
  if (value === undefined) return <p class="preview" aria-live="polite" />;
  const silent = value.not_connected.count;
  return (
    <div class="preview" aria-live="polite">
      {value.fault !== undefined && <p class="failure">{value.fault}</p>}
      <p>
        <strong>Reaches {minions(value.matched)}</strong>
        {value.matched > 0 && `: ${count(value.connected.count)} connected, ${count(silent)} silent`}
      </p>
      <Lines title="Each term by itself" lines={termLines(value)} />
      <Lines title="Names without an accepted minion" lines={unknownLines(value)} />
      <Lines title={silent > 10 ? "Silent minions, the first ones" : "Silent minions"} lines={silentLines(value)} />
      {value.without_grains_or_pillar !== undefined && (
        <p>{minions(value.without_grains_or_pillar.count)} of these only because the master has no data of them yet.</p>
      )}
    </div>
  );
}

function Lines({
  title,
  lines,
}: {
  readonly title: string;
  readonly lines: readonly { name: string; text: string }[];
}) {
  if (lines.length === 0) return null;
  return (
    <details open={lines.length <= 5}>
      <summary>{title}</summary>
      <dl class="lines">
        {lines.map(({ name, text }) => (
          <div key={name}>
            <dt class="code">{name}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
