/** The jobs of the job cache, the newest first, with a search that the master does. */
import { useState } from "preact/hooks";
import { Failure, Waiting } from "../parts/notices.tsx";
import { PageButtons, usePages } from "../parts/pages.tsx";
import { usePolled } from "../parts/polled.ts";
import { VirtualList } from "../parts/virtual-list.tsx";
import type { ApiClient } from "../session/client.ts";
import { type JobRow, jobRows, joined, type ListedJob } from "../views/job-view.ts";
import { addressOf } from "../views/place.ts";
import { msOfJid, timeText } from "../views/texts.ts";

const jobsPerPage = "100";
const intervalMs = 5_000;
const fields = { fun: "Function", target: "Target", user: "User" } as const;
const states = ["running", "paused", "waiting", "over"];
type Search = Partial<Record<keyof typeof fields | "state", string>>;

export function JobsPage({ client }: { readonly client: ApiClient }) {
  const [search, setSearch] = useState<Search>({});
  const pages = usePages();
  const { after } = pages;
  const key = JSON.stringify([search, after]);
  const { value, error } = usePolled(key, after === undefined ? intervalMs : 0, async () => {
    const place = after === undefined ? {} : { after };
    const page = await client.page<Record<string, ListedJob>>("jobs", { ...search, ...place, limit: jobsPerPage });
    return { rows: jobRows(page.value), next: page.next };
  });
  const find = (event: Event) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const given = [...data].map(([name, text]) => [name, String(text).trim()]).filter(([, text]) => text !== "");
    setSearch(Object.fromEntries(given));
    pages.restart();
  };
  return (
    <>
      <h1>Jobs</h1>
      <form class="fields" onSubmit={find}>
        {Object.entries(fields).map(([name, title]) => (
          <label key={name} class="grow">
            {title} (glob)
            <input class="code" type="search" name={name} spellcheck={false} />
          </label>
        ))}
        <label>
          State
          <select name="state">
            <option value="">all</option>
            {states.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <button type="submit">Search</button>
      </form>
      <OpenJob />
      <Failure text={error} />
      {value === undefined && error === undefined && <Waiting />}
      {value !== undefined && (
        <VirtualList
          label="Jobs"
          rows={value.rows}
          keyOf={({ jid }) => jid}
          empty="No job matches."
          draw={(job) => <JobCells job={job} />}
        />
      )}
      <PageButtons pages={pages} next={value?.next} names={{ back: "Newer", forth: "Older" }} />
    </>
  );
}

function JobCells({ job }: { readonly job: JobRow }) {
  return (
    <>
      <a class="code" href={addressOf("jobs", job.jid)}>
        {timeText(msOfJid(job.jid))}
      </a>
      <span class="code cell-main">{joined(job.Function)}</span>
      <span class="code cell-rest">{joined(job.Target)}</span>
      <span class="cell-end">{job.User}</span>
    </>
  );
}

function OpenJob() {
  const open = (event: Event) => {
    event.preventDefault();
    const jid = String(new FormData(event.currentTarget as HTMLFormElement).get("jid") ?? "").trim();
    if (jid !== "") location.hash = addressOf("jobs", jid);
  };
  return (
    <form class="fields" onSubmit={open}>
      <label class="grow">
        Job id
        <input class="code" name="jid" inputMode="numeric" spellcheck={false} />
      </label>
      <button type="submit">Open</button>
    </form>
  );
}
