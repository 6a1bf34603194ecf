/** One job: each minion's state with its reason, live while the job runs, and what a minion returned. */
import { useState } from "preact/hooks";
import { Badge, Failure, Waiting } from "../parts/notices.tsx";
import { PageButtons, usePages } from "../parts/pages.tsx";
import { usePolled } from "../parts/polled.ts";
import { SearchFields } from "../parts/search-fields.tsx";
import { VirtualList } from "../parts/virtual-list.tsx";
import type { ApiClient } from "../session/client.ts";
import { type JobStatus, shares, statusRows } from "../views/job-view.ts";
import { addressOf } from "../views/place.ts";
import { count, minions, msOfJid, msOfText, timeText } from "../views/texts.ts";
import { Asked, BatchControls, Returned } from "./job-parts.tsx";

const intervalMs = 1_000;
/** More would make each look longer than the eye can follow. */
const minionsPerPage = 500;
const states = ["targeted", "sent", "running", "returned", "failed", "lost", "unknown"];
const stateChoices: Readonly<Record<string, string>> = {
  "": "all",
  ...Object.fromEntries(states.map((name) => [name, name])),
};

type Props = { readonly client: ApiClient; readonly jid: string };
type Filter = { readonly state: string; readonly minion: string };

/** A page of the job's minions in order of their ids; if it is the only one, minions that need a look come first. */
function useMinions({ client, jid }: Props, filter: Filter, after: string | undefined) {
  const [isOver, setOver] = useState(false);
  const key = JSON.stringify([jid, filter, after]);
  const polled = usePolled(key, isOver ? 0 : intervalMs, async () => {
    const given = Object.entries({ ...filter, after: after ?? "" }).filter(([, text]) => text !== "");
    const query = { ...Object.fromEntries(given), limit: String(minionsPerPage) };
    const { value, next } = await client.page<JobStatus>(`jobs/${encodeURIComponent(jid)}/minions`, query);
    setOver(value.Over === true);
    const rows = statusRows(value, after === undefined && next === undefined ? "state" : "id");
    return { status: value, rows, next };
  });
  return { ...polled, isOver };
}

/** An address may hold another text than a job id. It then has no time. */
function startText(jid: string): string {
  const time = timeText(msOfJid(jid));
  return time === "" ? "" : `, started ${time} UTC`;
}

export function JobPage({ client, jid }: Props) {
  const [filter, setFilter] = useState<Filter>({ state: "", minion: "" });
  const [chosen, setChosen] = useState<string>();
  const pages = usePages();
  const { value, error, isOver } = useMinions({ client, jid }, filter, pages.after);
  const change = (changed: Partial<Filter>) => {
    setFilter({ ...filter, ...changed });
    pages.restart();
  };
  return (
    <>
      <p>
        <a href={addressOf("jobs")}>Jobs</a>
      </p>
      <h1 class="code">{value?.status.Function ?? "Job"}</h1>
      <p class="muted">
        Job <span class="code">{jid}</span>
        {startText(jid)}
      </p>
      <Asked client={client} jid={jid} />
      <BatchControls client={client} jid={jid} isOver={isOver} />
      <Failure text={error} />
      {value === undefined && error === undefined && <Waiting />}
      {value !== undefined && (
        <>
          <Progress status={value.status} />
          <SearchFields
            search={filter.minion}
            onSearch={(text) => change({ minion: text.trim() })}
            asks="whole"
            choiceLabel="State"
            choices={stateChoices}
            choice={filter.state}
            onChoose={(state) => change({ state })}
          />
          <VirtualList
            label="Minions of the job"
            rows={value.rows}
            keyOf={({ id }) => id}
            empty="No minion in this state."
            draw={({ id, State, Reason = "", Since = "" }) => (
              <>
                <Badge state={State} />
                <button
                  type="button"
                  class="link code cell-main"
                  aria-expanded={id === chosen}
                  onClick={() => setChosen(id)}
                >
                  {id}
                </button>
                <span class="cell-rest">{Reason === "" ? timeText(msOfText(Since)) : Reason}</span>
              </>
            )}
          />
          {(pages.number > 1 || value.next !== undefined) && (
            <PageButtons
              pages={pages}
              next={value.next}
              names={{ back: "Back", forth: `More after page ${pages.number}` }}
            />
          )}
          {chosen !== undefined && <Returned key={chosen} client={client} jid={jid} id={chosen} />}
        </>
      )}
    </>
  );
}

function Progress({ status }: { readonly status: JobStatus }) {
  const parts = shares(status);
  const total = parts.reduce((sum, part) => sum + part.count, 0);
  const waits = status["Waits-until"];
  return (
    <div aria-live="polite">
      <p>
        <strong>{status.Over === true ? "Over" : "Running"}</strong>
        {waits !== undefined && `, waits for absent minions until ${timeText(msOfText(waits))} UTC`}
      </p>
      <div class="bar" aria-hidden="true">
        {parts.map(({ state, count: size }) => (
          <span key={state} class={`bar-${state}`} style={{ flexGrow: size }} />
        ))}
      </div>
      <p class="counts">
        {parts.map(({ state, count: size }) => (
          <Badge key={state} state={state}>{`${count(size)} ${state}`}</Badge>
        ))}
        <span class="muted">of {minions(total)}</span>
      </p>
    </div>
  );
}
