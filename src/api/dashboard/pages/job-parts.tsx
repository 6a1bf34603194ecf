/** Parts of a job's page that ask the API by themselves: what was asked, the controls of a batch, and what a minion returned. */
import { useState } from "preact/hooks";
import { Failure } from "../parts/notices.tsx";
import { usePolled } from "../parts/polled.ts";
import type { ApiClient } from "../session/client.ts";
import { batchActions, joined, type ListedBatch, type ListedJob } from "../views/job-view.ts";
import { longValue, shortValue } from "../views/texts.ts";

type Props = { readonly client: ApiClient; readonly jid: string };

/** The job's target, arguments and user. */
export function Asked({ client, jid }: Props) {
  const { value } = usePolled(jid, 0, async () => {
    const { value: found } = await client.page<Record<string, ListedJob>>("jobs", { limit: "1", after: next(jid) });
    return found[jid];
  });
  if (value === undefined) return null;
  return (
    <dl class="lines">
      <div>
        <dt>Target</dt>
        <dd class="code">
          {joined(value.Target)} ({value["Target-type"]})
        </dd>
      </div>
      {value.Arguments.length > 0 && (
        <div>
          <dt>Arguments</dt>
          <dd class="code">{value.Arguments.map(shortValue).join("  ")}</dd>
        </div>
      )}
      <div>
        <dt>User</dt>
        <dd>{value.User}</dd>
      </div>
    </dl>
  );
}

/** The job id after this one, so that a list of jobs before it begins with this one. */
function next(jid: string): string {
  return /^\d+$/.test(jid) ? String(BigInt(jid) + 1n) : jid;
}

const batchIntervalMs = 2_000;
const actionTitles = { pause: "Pause", resume: "Resume", abort: "Abort" } as const;

/** Nothing for a job that is not a batch. */
export function BatchControls({ client, jid, isOver }: Props & { readonly isOver: boolean }) {
  const [told, setTold] = useState<string>();
  const { value, error, reload } = usePolled(`${jid} ${isOver}`, isOver ? 0 : batchIntervalMs, async () => {
    return (await client.read<Record<string, ListedBatch>>("runner", "jobs.batches"))[jid];
  });
  if (error !== undefined) return <Failure text={error} />;
  if (value === undefined) return null;
  const act = async (action: keyof typeof actionTitles) => {
    try {
      setTold(await client.controlBatch(action, jid));
    } catch (failure) {
      setTold((failure as Error).message);
    }
    reload();
  };
  return (
    <div class="fields" aria-live="polite">
      <span>
        Batch, {value.Batch} at a time: {value.State}
      </span>
      {batchActions(value).map((action) => (
        <button key={action} type="button" onClick={() => void act(action)}>
          {actionTitles[action]}
        </button>
      ))}
      {told !== undefined && <span class="muted">{told}</span>}
    </div>
  );
}

type Stored = { readonly return?: unknown; readonly retcode?: number };

export function Returned({ client, jid, id }: Props & { readonly id: string }) {
  const { value, error } = usePolled(`${jid} ${id}`, 0, async () => {
    const found = await client.read<Record<string, Stored>>("wheel", "saltworks.returns", { jid, ids: [id] });
    return found[id] ?? "none";
  });
  return (
    <section class="panel" aria-label={`Return of ${id}`} aria-live="polite">
      <h2 class="code">{id}</h2>
      <Failure text={error} />
      {value === "none" && <p>It has not returned.</p>}
      {typeof value === "object" && (
        <>
          {value.retcode !== undefined && <p>Exit code {value.retcode}</p>}
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long values scroll, by keyboard too. */}
          <pre tabIndex={0}>{longValue(value.return)}</pre>
        </>
      )}
    </section>
  );
}
