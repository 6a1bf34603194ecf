/** Question: do 1,000 readers of `GET /events` get every one of 5,000 events a second, and what does that cost minions' returns? */
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { fireEvents } from "../../src/transport/event-stream-client.ts";
import { encodeEvent } from "../../src/wire/event.ts";
import { familyOf } from "../cpu-time.ts";
import { freePorts } from "../free-ports.ts";
import { LatencyHistogram } from "../load/histogram.ts";
import { thisMachine } from "../machine.ts";
import { memoryOf } from "../memory.ts";
import type { LoadTurn } from "../peers/load-report.ts";
import { countOf, runProgram, say } from "../peers/program.ts";
import { StormSide } from "../peers/storm-side.ts";
import { apiConfig, login } from "./sides/api-side.ts";
import { Readers, type ReadersSaw } from "./sides/readers.ts";

const usage = `usage: node dist/bench/http/event-readers.js [options]
  --readers COUNT      open streams that read, default 1000; beside them one that does not read
  --events PER-SECOND  events that are fired, default 5000
  --minions COUNT      minions that return meanwhile, default 100
  --rate PER-SECOND    returns a second, at random times, default 300
  --seconds COUNT      of one turn, default 10
  --rounds COUNT       turns without and with readers, default 2
`;

const { values } = parseArgs({
  options: {
    readers: { type: "string", default: "1000" },
    events: { type: "string", default: "5000" },
    minions: { type: "string", default: "100" },
    rate: { type: "string", default: "300" },
    seconds: { type: "string", default: "10" },
    rounds: { type: "string", default: "2" },
    help: { type: "boolean", default: false },
  },
});

const readerProcesses = 2;
const stepMs = 20;
const caughtUpTimeoutMs = 60_000;
const warmUpReturns = 40;

type Site = { readonly side: StormSide; readonly port: number; readonly id: string };
type Fired = { count: number; wallMs: number };
type Label = "alone" | "events" | "idle readers" | "events and readers";

/** Fires numbered events at a rate until the signal. */
function firing(side: StormSide, perSecond: number, fired: Fired): (signal: AbortSignal) => Promise<void> {
  const pull = join(side.master.socketDirectory, "master_event_pull.ipc");
  return async (signal) => {
    const startedMs = performance.now();
    while (!signal.aborted) {
      const due = Math.floor(((performance.now() - startedMs) * perSecond) / 1_000) - fired.count;
      const events = Array.from({ length: due }, (_, index) =>
        encodeEvent("bench/readers", { number: fired.count + index + 1 }),
      );
      if (due > 0) await fireEvents(pull, events);
      fired.count += due;
      await wait(stepMs);
    }
    fired.wallMs = performance.now() - startedMs;
  };
}

/** The API is the master's only process. */
function apiRssBytes({ side }: Site): number {
  const { processId } = side.master;
  return [...familyOf(processId)]
    .filter((pid) => pid !== processId)
    .reduce((sum, pid) => sum + memoryOf(pid).rssBytes, 0);
}

async function returnsTurn(side: StormSide, beside?: (signal: AbortSignal) => Promise<void>): Promise<LoadTurn> {
  const [rate, seconds] = [countOf("--rate", values.rate), countOf("--seconds", values.seconds)];
  const jobs = Math.max(1, Math.round((rate * seconds) / side.minionCount));
  return await side.turn({ kind: "returns", jobs, returnBytes: "64", ratePerSecond: rate }, beside);
}

/** One turn with its readers, which are opened and closed for it. */
async function turn(site: Site, label: Label) {
  const { side, port, id } = site;
  const isRead = label === "idle readers" || label === "events and readers";
  const isFired = label === "events" || label === "events and readers";
  const count = countOf("--readers", values.readers);
  const readers = isRead
    ? await Readers.open({ port, id, count, processes: readerProcesses, isReading: true })
    : undefined;
  const unread = isRead ? await Readers.open({ port, id, count: 1, processes: 1, isReading: false }) : undefined;
  try {
    const rssBefore = apiRssBytes(site);
    let rssMost = rssBefore;
    const looking = setInterval(() => {
      rssMost = Math.max(rssMost, apiRssBytes(site));
    }, 500);
    const fired: Fired = { count: 0, wallMs: 0 };
    readers?.mark();
    const perSecond = countOf("--events", values.events);
    const done = await returnsTurn(side, isFired ? firing(side, perSecond, fired) : undefined);
    const saw: ReadersSaw | undefined = await readers?.untilEqual(caughtUpTimeoutMs);
    clearInterval(looking);
    const firedPerSecond = fired.wallMs === 0 ? 0 : Math.round(fired.count / (fired.wallMs / 1_000));
    return {
      label,
      returnP50Ms: (done.storm?.latencyUsP50 ?? 0) / 1_000,
      returnP99Ms: (done.storm?.latencyUsP99 ?? 0) / 1_000,
      histogram: done.storm?.histogram ?? "",
      cpuMsPerSecond: Math.round(done.cpuMs / (done.wallMs / 1_000)),
      voidReasons: done.storm?.voidReasons ?? [],
      ...{ fired: fired.count, firedPerSecond },
      ...(saw === undefined ? {} : { saw, lostEvents: fired.count - saw.events }),
      ...(unread === undefined ? {} : { unreadClosed: (await unread.saw()).closed }),
      ...{ apiRssBytes: rssBefore, apiRssGrowthBytes: rssMost - rssBefore },
    };
  } finally {
    readers?.close();
    unread?.close();
  }
}

type ReadersTurn = Awaited<ReturnType<typeof turn>>;

/** Of all turns with this label together. */
function p99Ms(turns: readonly ReadersTurn[], label: Label): number {
  const all = new LatencyHistogram();
  for (const each of turns) if (each.label === label) all.add(LatencyHistogram.decode(each.histogram));
  return all.atUs(99) / 1_000;
}

async function measure(site: Site): Promise<void> {
  await site.side.turn({ kind: "returns", jobs: warmUpReturns, returnBytes: "64" });
  const labels: readonly Label[] = ["alone", "events", "idle readers", "events and readers"];
  const turns: ReadersTurn[] = [];
  for (let round = 0; round < countOf("--rounds", values.rounds); round += 1)
    for (const label of round % 2 === 0 ? labels : labels.toReversed()) {
      const done = await turn(site, label);
      turns.push(done);
      const { histogram: _histogram, ...shown } = done;
      say(JSON.stringify(shown));
    }
  const p99 = Object.fromEntries(labels.map((label) => [label, p99Ms(turns, label)]));
  const ratio = (p99["events and readers"] ?? 0) / Math.max(0.001, p99.events ?? 0);
  const { readers, events, minions, rate, seconds, rounds } = values;
  const parameters = { readers, events, minions, rate, seconds, rounds };
  const figures = { returnP99MsByLabel: p99, returnP99ToWithoutReaders: Math.round(ratio * 1_000) / 1_000 };
  process.stdout.write(
    `${JSON.stringify({ bench: "http/event-readers", parameters, figures, turns, ...thisMachine() })}\n`,
  );
}

async function main(): Promise<void> {
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  const [port = 0] = await freePorts(1);
  const minionCount = countOf("--minions", values.minions);
  const config = apiConfig(port);
  const side = await StormSide.open({ master: { kind: "saltworks", workers: 2, config }, minionCount });
  try {
    await measure({ side, port, id: await login(`http://127.0.0.1:${port}`) });
  } finally {
    await side.close();
  }
}

await runProgram(main);
