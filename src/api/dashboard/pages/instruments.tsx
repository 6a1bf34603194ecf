/** The master's own instruments: the metrics that `saltworks top` shows, with plots of the last minutes. */
import { useRef } from "preact/hooks";
import { Badge, Failure, Tile, Waiting } from "../parts/notices.tsx";
import { Plot } from "../parts/plot.tsx";
import { usePolled } from "../parts/polled.ts";
import type { ApiClient } from "../session/client.ts";
import { type Instruments, instrumentsOf, type MetricRow, type Reading } from "../views/instruments-view.ts";
import { bytes, count, duration } from "../views/texts.ts";

const intervalMs = 2_000;
const pointsMax = 300;

type History = { readonly times: number[]; readonly figures: Instruments[] };

export function InstrumentsPage({ client }: { readonly client: ApiClient }) {
  const before = useRef<Reading | undefined>(undefined);
  const history = useRef<History>({ times: [], figures: [] });
  const { value, error } = usePolled("instruments", intervalMs, async () => {
    const rows = await client.read<readonly MetricRow[]>("wheel", "saltworks.metrics");
    const now = { rows, atMs: performance.now() };
    const figures = instrumentsOf(before.current ?? now, now);
    if (before.current !== undefined) {
      const { times, figures: all } = history.current;
      history.current = {
        times: [...times, Date.now() / 1_000].slice(-pointsMax),
        figures: [...all, figures].slice(-pointsMax),
      };
    }
    before.current = now;
    return figures;
  });
  return (
    <>
      <h1>Instruments</h1>
      <Failure text={error} />
      {value === undefined && error === undefined && <Waiting />}
      {value !== undefined && <Shown figures={value} history={history.current} />}
    </>
  );
}

function Shown({ figures, history }: { readonly figures: Instruments; readonly history: History }) {
  const { times } = history;
  const line = (pick: (of: Instruments) => number | null) => history.figures.map(pick);
  return (
    <>
      <dl class="tiles">
        <Tile
          name="Connected"
          value={count(figures.minions.connected)}
          note={` of ${count(figures.minions.accepted)}`}
        />
        <Tile name="Requests" value={count(figures.requestsPerSecond)} note=" a second" />
        <Tile name="Events" value={count(figures.eventsPerSecond)} note=" a second" />
        <Tile name="Queue" value={count(figures.queuedRequests)} note={` (${bytes(figures.queuedBytes)})`} />
        <Tile name="Waiting auths" value={count(figures.waitingAuths)} />
        <Tile name="Main loop p99" value={duration(figures.mainLoopP99)} />
      </dl>
      <div class="plots">
        <Plot
          title="Returns a second"
          latest={count(figures.returnsPerSecond)}
          times={times}
          values={line((of) => of.returnsPerSecond)}
          format={count}
        />
        <Plot
          title="Wait in the queue, p99"
          latest={duration(figures.waitP99)}
          times={times}
          values={line((of) => of.waitP99)}
          format={duration}
        />
        <Plot
          title="CPU, cores"
          latest={figures.cpuCores.toFixed(2)}
          times={times}
          values={line((of) => of.cpuCores)}
          format={(value) => value.toFixed(2)}
        />
        <Plot
          title="Memory"
          latest={bytes(figures.residentBytes)}
          times={times}
          values={line((of) => of.residentBytes)}
          format={bytes}
        />
      </div>
      <Workers workers={figures.workers} />
      <Limits limits={figures.limits} />
    </>
  );
}

function Workers({ workers }: { readonly workers: Instruments["workers"] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table scrolls, by keyboard too.
    <section class="scroll" tabIndex={0} aria-label="Workers">
      <table>
        <caption>Workers</caption>
        <thead>
          <tr>
            {["Worker", "CPU", "Returns/s", "Queued", "Heap", "Loop p99"].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {workers.map((one) => (
            <tr key={one.worker}>
              <th scope="row">
                {one.worker} {one.isStale && <Badge state="failed">no answer</Badge>}
              </th>
              <td>{`${Math.round(one.cpuShare * 100)}%`}</td>
              <td>{count(one.returnsPerSecond)}</td>
              <td>{count(one.queued)}</td>
              <td>{bytes(one.heapBytes)}</td>
              <td>{duration(one.loopP99)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Limits({ limits }: { readonly limits: Instruments["limits"] }) {
  if (limits.length === 0) return null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table scrolls, by keyboard too.
    <section class="scroll" tabIndex={0} aria-label="Limits">
      <table>
        <caption>Limits in use</caption>
        <thead>
          <tr>
            <th scope="col">Limit</th>
            <th scope="col">Used</th>
            <th scope="col">Reached</th>
          </tr>
        </thead>
        <tbody>
          {limits.map(({ limit, share, hits }) => (
            <tr key={limit}>
              <th scope="row" class="code">
                {limit}
              </th>
              <td>{`${Math.round(share * 100)}%`}</td>
              <td>{hits === 0 ? "never" : `${count(hits)}×`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
