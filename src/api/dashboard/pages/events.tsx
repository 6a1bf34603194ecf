/** The master's events as they come, with a filter on their tags. */
import { useEffect, useRef, useState } from "preact/hooks";
import { Failure } from "../parts/notices.tsx";
import { VirtualList } from "../parts/virtual-list.tsx";
import type { ApiClient } from "../session/client.ts";
import type { StreamedEvent } from "../session/event-stream.ts";
import { count, globFilter, longValue, msOfText, shortValue, timeText } from "../views/texts.ts";

type Row = StreamedEvent & { readonly number: number };

/** The page forgets older events. */
const keptMax = 2_000;
const drawMs = 250;
const reconnectMs = 2_000;

/** Takes events in at any rate and draws them four times a second. */
function useEvents(client: ApiClient, isPaused: boolean) {
  const [rows, setRows] = useState<readonly Row[]>([]);
  const [error, setError] = useState<string>();
  const held = useRef<{ number: number; rows: Row[] }>({ number: 0, rows: [] });
  useEffect(() => {
    if (isPaused) return undefined;
    const stop = new AbortController();
    const take = (event: StreamedEvent) => {
      const { current } = held;
      current.number += 1;
      current.rows.push({ ...event, number: current.number });
      if (current.rows.length > 2 * keptMax) current.rows = current.rows.slice(-keptMax);
    };
    const follow = async () => {
      while (!stop.signal.aborted) {
        try {
          await client.events(take, stop.signal);
          setError("The stream has ended. Connecting again …");
        } catch (failure) {
          if (!stop.signal.aborted) setError((failure as Error).message);
        }
        await new Promise((resolve) => setTimeout(resolve, reconnectMs));
      }
    };
    void follow();
    let drawn = held.current.number;
    const timer = setInterval(() => {
      if (held.current.number === drawn) return;
      drawn = held.current.number;
      setError(undefined);
      setRows(held.current.rows.slice(-keptMax).reverse());
    }, drawMs);
    return () => {
      stop.abort();
      clearInterval(timer);
    };
  }, [client, isPaused]);
  return { rows, error };
}

export function EventsPage({ client }: { readonly client: ApiClient }) {
  const [isPaused, setPaused] = useState(false);
  const [filter, setFilter] = useState("");
  const [chosen, setChosen] = useState<Row>();
  const { rows, error } = useEvents(client, isPaused);
  const matches = globFilter(filter);
  const found = rows.filter(({ tag }) => matches(tag));
  return (
    <>
      <h1>Events</h1>
      <div class="fields">
        <label class="grow">
          Tags (part, or glob such as salt/job/*/ret/*)
          <input
            class="code"
            type="search"
            value={filter}
            spellcheck={false}
            onInput={({ currentTarget }) => setFilter(currentTarget.value)}
          />
        </label>
        <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          {isPaused ? "Go on" : "Pause"}
        </button>
      </div>
      <Failure text={error} />
      <p class="muted">
        {count(found.length)} of the last {count(rows.length)} events
        {isPaused && ", paused"}
      </p>
      <VirtualList
        label="Events"
        rows={found}
        keyOf={({ number }) => String(number)}
        empty={isPaused ? "No event matches." : "Waiting for events …"}
        draw={(row) => (
          <>
            <span class="muted">{timeText(msOfText(row.data._stamp), "exact")}</span>
            <button
              type="button"
              class="link code cell-main"
              aria-expanded={row.number === chosen?.number}
              onClick={() => setChosen(row)}
            >
              {row.tag}
            </button>
            <span class="code cell-rest">{shortValue(row.data).slice(0, 200)}</span>
          </>
        )}
      />
      {chosen !== undefined && (
        <section class="panel" aria-label="The chosen event">
          <h2 class="code">{chosen.tag}</h2>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long events scroll, by keyboard too. */}
          <pre tabIndex={0}>{longValue(chosen.data)}</pre>
        </section>
      )}
    </>
  );
}
