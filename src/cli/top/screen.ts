/** Lays out a view of the master in lines that fit the screen. The most important lines come first. */
import type { Paint } from "../outputters/colours.ts";
import { clusterPieces, lagPieces, ownerRows, serverRows } from "./cluster-lines.ts";
import { age, bytes, count, duration, microseconds, percent } from "./figures.ts";
import { alarm, type Piece, type Row } from "./pieces.ts";
import type { View } from "./view.ts";

export type ScreenOptions = {
  /** The master's request port. */
  readonly endpoint: string;
  readonly clock: string;
  /** The reason why the figures are old. */
  readonly trouble?: string;
  readonly paint: Paint;
  /** Undefined: no limit. */
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
};

type Line = readonly Piece[];

/** A limit with at least this share in use is highlighted. */
const nearShare = 0.8;
const columnGap = 2;

export function screenLines(view: View, options: ScreenOptions): string[] {
  const lines: Line[] = [
    ...headLines(view, options),
    ...clusterLines(view),
    blank,
    ...stageLines(view),
    blank,
    ...commandLines(view),
    blank,
    ...workerLines(view),
    blank,
    ...lists(view),
  ];
  const { columns = Number.POSITIVE_INFINITY, rows = Number.POSITIVE_INFINITY, paint } = options;
  return lines.slice(0, rows).map((line) => painted(line, columns, paint));
}

const blank: Line = [];

function headLines(view: View, { endpoint, clock, trouble }: ScreenOptions): Line[] {
  const { minions, queue, auths, events } = view;
  const batch = view.requestsPerBatch === null ? "" : ` of ${count(view.requestsPerBatch)}`;
  const dropped = { text: `${count(events.dropped)} dropped`, ...(events.dropped > 0 ? alarm : {}) };
  return [
    [
      { text: "saltworks top", tone: "head" },
      ...(trouble === undefined ? [] : [{ text: `  ${trouble}`, ...alarm }]),
      { text: `  ${endpoint}  up ${age(view.upSeconds)}  ${clock}` },
    ],
    titled(
      "Minions",
      `${count(minions.connected)} of ${count(minions.accepted)} connected  CPU ${percent(view.cpuCores)}  memory ${bytes(view.residentBytes)}  main loop p99 ${duration(view.mainLoopDelayP99)}`,
    ),
    titled(
      "Requests",
      `${count(view.requestsPerSecond)}/s  returns ${count(view.returnsPerSecond)}/s  batches ${count(view.batchesPerSecond)}/s${batch}  commits ${count(view.commitsPerSecond)}/s`,
    ),
    titled(
      "Queue",
      `${count(queue.requests)} requests, ${bytes(queue.bytes)}, wait p99 ${duration(queue.waitP99)}  auths ${count(auths.waiting)}, wait p99 ${duration(auths.waitP99)}`,
    ),
    [
      ...titled("Events", `${count(events.perSecond)}/s to ${count(events.subscribers)} subscribers, `),
      dropped,
      { text: `  jobs ${count(view.jobsPerSecond)}/s` },
    ],
  ];
}

/** None for a master that is not a member. */
function clusterLines({ cluster }: View): Line[] {
  if (cluster === undefined) return [];
  const headed = (title: string, pieces: readonly Piece[]): Line => [
    { text: title.padEnd(titleWidth), tone: "head" },
    ...pieces,
  ];
  return [
    headed("Cluster", clusterPieces(cluster)),
    headed("Lag", lagPieces(cluster)),
    blank,
    ...table(serverRows(cluster)),
    ...(cluster.owners.length === 0 ? [] : [blank, ...table(ownerRows(cluster))]),
  ];
}

function stageLines({ stages }: View): Line[] {
  return table([
    ["STAGE", ...stages.map(({ stage }) => stage)],
    ["µs/request", ...stages.map(({ secondsPerRequest }) => microseconds(secondsPerRequest))],
    ["batch p99", ...stages.map(({ batchP99 }) => duration(batchP99))],
  ]);
}

function commandLines({ commands }: View): Line[] {
  const busiest = [...commands].sort((left, right) => total(right) - total(left));
  return table([
    ["COMMAND", "answered/s", "deferred/s", "failed/s"],
    ...busiest.map(
      ({ command, answered, deferred, failed }): Row => [
        command,
        count(answered),
        count(deferred),
        failed > 0 ? { text: count(failed), ...alarm } : count(failed),
      ],
    ),
  ]);
}

function total(command: { readonly answered: number; readonly deferred: number; readonly failed: number }): number {
  return command.answered + command.deferred + command.failed;
}

function workerLines({ workers }: View): Line[] {
  return table([
    ["WORKER", "CPU", "busy", "requests/s", "returns/s", "queued", "heap", "loop p99", ""],
    ...workers.map(
      (worker): Row => [
        worker.worker,
        percent(worker.cpuShare),
        percent(worker.busyShare),
        count(worker.requestsPerSecond),
        count(worker.returnsPerSecond),
        count(worker.queued),
        bytes(worker.heapBytes),
        duration(worker.loopDelayP99),
        worker.isStale ? { text: "no answer", ...alarm } : "",
      ],
    ),
  ]);
}

/** One line each for authentications, pillars, refusals, threads and limits. */
function lists(view: View): Line[] {
  const rates = (values: Readonly<Record<string, number>>): Piece[] =>
    Object.entries(values)
      .filter(([, rate]) => rate > 0)
      .map(([name, rate]) => ({ text: `${name} ${count(rate)}/s` }));
  const dropped = view.auths.droppedPerSecond;
  const auths = [
    ...rates(view.auths.perSecond),
    ...(dropped > 0 ? [{ text: `dropped ${count(dropped)}/s`, ...alarm }] : []),
  ];
  const threads = view.threads
    .filter(({ cpuShare }) => cpuShare >= 0.005)
    .map(({ thread, cpuShare }) => ({ text: `${thread} ${percent(cpuShare)}` }));
  const limits = view.limits.map(({ limit, share, hits, newHits }): Piece => {
    const met = hits > 0 ? `, met ${count(hits)}×` : "";
    return { text: `${limit} ${percent(share)}${met}`, ...(newHits > 0 || share >= nearShare ? alarm : {}) };
  });
  const { pillars } = view;
  const pillarTimes = `waiting ${count(pillars.waiting)}  render p99 ${duration(pillars.renderP99)}`;
  return [
    list("AUTHS", auths),
    list("PILLARS", [...rates(pillars.perSecond), { text: pillarTimes }]),
    list("REFUSED", rates(view.refusalsPerSecond)),
    list("THREADS", threads),
    list("LIMITS", limits),
  ];
}

const titleWidth = 10;

function titled(title: string, text: string): Line {
  return [{ text: title.padEnd(titleWidth), tone: "head" }, { text }];
}

function list(title: string, pieces: readonly Piece[]): Line {
  const shown = pieces.length === 0 ? [{ text: "none" }] : pieces;
  return [
    { text: title.padEnd(titleWidth), tone: "head" },
    ...shown.flatMap((piece, index) => (index === 0 ? [piece] : [{ text: "  " }, piece])),
  ];
}

/** Aligns the first column to the left and the others to the right. The first row holds the headings. */
function table(rows: readonly Row[]): Line[] {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === "string" ? { text: cell } : cell)));
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => row[column]?.text.length ?? 0)));
  return cells.map((row, index) =>
    row.map(({ text, tone }, column): Piece => {
      const width = widths[column] ?? 0;
      const filled = column === 0 ? text.padEnd(Math.max(width, titleWidth)) : text.padStart(width + columnGap);
      const shownTone = tone ?? (index === 0 || column === 0 ? "head" : undefined);
      return { text: filled, ...(shownTone === undefined ? {} : { tone: shownTone }) };
    }),
  );
}

function painted(line: Line, columns: number, paint: Paint): string {
  let left = columns;
  let text = "";
  for (const piece of line) {
    const shown = piece.text.slice(0, Math.max(0, left));
    left -= shown.length;
    if (shown === "") break;
    const begin = piece.tone === "alarm" ? paint.boldRed : piece.tone === "head" ? paint.cyan : "";
    text += begin === "" ? shown : `${begin}${shown}${paint.end}`;
  }
  return text.trimEnd();
}
