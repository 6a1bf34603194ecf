/** One process of a storm: signs its minions in, seals their requests, sends them, and accounts for the replies. Driven by `storm.ts`. */
import { setTimeout as wait } from "node:timers/promises";
import { parseDistribution } from "../../load/distribution.ts";
import { SelfCheck } from "../../load/self-check.ts";
import { Gate } from "../gate.ts";
import { minionKey } from "../keys.ts";
import { Connection, trafficSince, trafficSoFar } from "./connection.ts";
import { Lane, type Line } from "./lane.ts";
import type {
  FromStormProcess,
  LaneOutcome,
  Plan,
  PrepareAsks,
  PrepareAuths,
  PrepareJobReturns,
  PrepareScripts,
  Published,
  Respond,
  ResponderReport,
  Run,
  RunOutcome,
  SignIn,
  ToStormProcess,
} from "./messages.ts";
import { Responder } from "./responder.ts";
import { scriptsWork } from "./scripts.ts";
import { minionWithKey, type StormMinion, signIn, unaccepted } from "./storm-minion.ts";
import { asksWork, authsWork, jobReturnsWork, returnsWork, type Work } from "./work.ts";

/** Interval of progress reports. */
const tellEveryMs = 250;
/** Interval of the responder's reports, and so the longest delay of waits for it. */
const tellCountsEveryMs = 50;

/** `connectsEach`: whether each request has a connection of its own. `plannedMs`: the schedule of an open loop. */
type Prepared = {
  readonly work: Work;
  readonly lines: readonly Line[];
  readonly connectsEach: boolean;
  /** By request: its job, if the jobs are published within the run. */
  readonly jobOf?: Uint32Array | undefined;
  readonly plannedMs?: Float64Array;
};

class StormProcess {
  readonly #minions: StormMinion[] = [];
  readonly #lines: Line[] = [];
  /** Connections of lanes that do not use the minions' own. */
  readonly #ownLines = new Map<string, Line[]>();
  readonly #subscriptions: Connection[] = [];
  readonly #lanes = new Map<string, Prepared>();
  #running: ReadonlyMap<string, Lane> = new Map();
  #responder: Responder | undefined;
  readonly #selfCheck = new SelfCheck();
  #trafficBefore = trafficSoFar();
  #toldCounts = "";
  #order: SignIn | undefined;
  #toldMs = 0;

  async signIn(order: SignIn): Promise<void> {
    this.#order = order;
    this.#lines.push(...(await openLines(order, order.connections)));
    const gate = new Gate(order.signInsAtOnce);
    const lineGates = this.#lines.map(() => new Gate(1));
    let done = 0;
    const one = async (offset: number): Promise<void> => {
      const line = this.#lines[offset % this.#lines.length];
      const lineGate = lineGates[offset % this.#lines.length];
      if (line === undefined || lineGate === undefined) return;
      const signInOnce = () =>
        gate.run(() => lineGate.run(() => this.#newMinion(order, order.first + offset, line.connection)));
      this.#minions[offset] = await untilAccepted(
        signInOnce,
        `${order.idPrefix}${order.first + offset}`,
        order.acceptTimeoutMs,
      );
      done += 1;
      this.#tellProgress(done);
    };
    await Promise.all(Array.from({ length: order.count }, (_, offset) => one(offset)));
    await this.#subscribe(order);
  }

  async #newMinion(order: SignIn, index: number, connection: Connection): Promise<StormMinion | undefined> {
    const id = `${order.idPrefix}${index}`;
    const version = order.versions[index % order.versions.length] ?? 3;
    if (order.sessionKey !== undefined) return minionWithKey(id, order.sessionKey, version);
    // A turn of the event loop before each key, so that minions that are signing in are served meanwhile.
    await wait(0);
    return signIn(connection, id, minionKey(order.primes, index), version);
  }

  async #subscribe({ host, masters, subscriptions }: SignIn): Promise<void> {
    const ports = masters.map(({ publishPort }) => publishPort ?? this.#minions[0]?.keys.publishPort ?? 0);
    if (ports.includes(0)) return;
    const gate = new Gate(signInsAtOnceMax);
    const open = (_: unknown, at: number) =>
      gate.run(() => Connection.open({ host, port: ports[at % ports.length] ?? 0, type: "SUB" }));
    this.#subscriptions.push(...(await Promise.all(Array.from({ length: subscriptions }, open))));
  }

  prepare(
    lane: string,
    work: Work,
    lines: readonly Line[] = this.#lines,
    own: Partial<Pick<Prepared, "connectsEach" | "jobOf">> = {},
  ): void {
    this.#lanes.set(lane, { work, lines, connectsEach: false, ...own });
  }

  plan({ lane, plannedMs }: Plan): void {
    const prepared = this.#lanes.get(lane);
    if (prepared === undefined) throw new Error(`no lane ${lane}`);
    this.#lanes.set(lane, { ...prepared, plannedMs });
  }

  prepareReturns(order: Extract<ToStormProcess, { kind: "prepare-returns" }>): void {
    const returnBytes = parseDistribution(order.returnBytes);
    this.prepare(order.lane, returnsWork(this.#minions, { ...order, returnBytes }));
  }

  async prepareJobReturns(order: PrepareJobReturns): Promise<void> {
    const lines = order.connections === 0 ? this.#lines : await this.#linesOf(order.lane, order.connections);
    const jobOf = order.awaitsPublish ? order.returns.job : undefined;
    this.prepare(order.lane, jobReturnsWork(this.#minions, order), lines, { jobOf });
  }

  async prepareAuths(order: PrepareAuths): Promise<void> {
    const lines = await this.#linesOf(order.lane, order.connections);
    this.prepare(order.lane, authsWork(this.#minions, order), lines, { connectsEach: order.connectsEach });
  }

  async prepareAsks(order: PrepareAsks): Promise<void> {
    const lines = await this.#linesOf(order.lane, order.connections);
    this.prepare(order.lane, asksWork(this.#minions, order), lines);
  }

  async prepareScripts({ lane, scripts }: PrepareScripts): Promise<void> {
    const lines = await this.#linesOf(lane, this.#minions.length);
    this.prepare(lane, scriptsWork(this.#minions, scripts), lines);
  }

  async #linesOf(lane: string, count: number): Promise<Line[]> {
    const present = this.#ownLines.get(lane);
    if (present?.length === count) return present;
    for (const { connection } of present ?? []) connection.close();
    if (this.#order === undefined) throw new Error("no minion has signed in");
    const lines = await openLines(this.#order, count);
    this.#ownLines.set(lane, lines);
    return lines;
  }

  respond(order: Respond): void {
    this.#responder = new Responder(this.#minions, this.#order?.first ?? 0, this.#lines, order);
    for (const [first, subscription] of this.#subscriptions.entries()) {
      subscription.onMessage = (payload) => {
        this.#responder?.onPublish(payload, first, this.#subscriptions.length);
      };
    }
    setInterval(() => this.#tellCounts(), tellCountsEveryMs);
    this.#trafficBefore = trafficSoFar();
    this.#selfCheck.start();
  }

  responded(isReset: boolean): ResponderReport {
    const responder = this.#responder;
    if (responder === undefined) throw new Error("no minion responds");
    const report = {
      counts: responder.counts,
      histogram: responder.histogram(),
      self: this.#selfCheck.report(),
      traffic: trafficSince(this.#trafficBefore),
    };
    if (isReset) {
      this.#trafficBefore = trafficSoFar();
      responder.reset();
      this.#selfCheck.start();
    }
    return report;
  }

  #tellCounts(): void {
    const counts = this.#responder?.counts;
    const now = JSON.stringify(counts);
    if (counts === undefined || now === this.#toldCounts) return;
    this.#toldCounts = now;
    tell({ kind: "counts", counts });
  }

  async run(order: Run): Promise<RunOutcome> {
    const options = { timeoutMs: order.timeoutMs, tries: order.tries, onProgress: () => this.#tellRunning() };
    const lanes = order.lanes.map((name) => {
      const prepared = this.#lanes.get(name);
      if (prepared === undefined) throw new Error(`no lane ${name}`);
      const { work, lines, connectsEach, jobOf, plannedMs } = prepared;
      return { name, plannedMs, lane: new Lane(work, lines, { ...options, connectsEach, jobOf }) };
    });
    this.#running = new Map(lanes.map(({ name, lane }) => [name, lane]));
    await wait(Math.max(0, order.startAtMs - Date.now()));
    const check = new SelfCheck();
    check.start();
    const trafficBefore = trafficSoFar();
    const startedMs = performance.now();
    await Promise.all(lanes.map(({ lane, plannedMs }) => lane.run(startedMs, plannedMs)));
    const self = check.stop();
    const traffic = trafficSince(trafficBefore);
    this.#running = new Map();
    const outcomes: Record<string, LaneOutcome> = {};
    for (const { name, lane } of lanes) outcomes[name] = lane.outcome(order.verifyMax);
    for (const name of order.lanes) this.#lanes.delete(name);
    return { lanes: outcomes, self, traffic };
  }

  abandon(): void {
    for (const lane of this.#running.values()) lane.abandon();
  }

  published({ lane, job, lateMs }: Published): void {
    this.#running.get(lane)?.published(job, lateMs);
  }

  stop(): void {
    this.#responder?.close();
    for (const { connection } of [...this.#lines, ...[...this.#ownLines.values()].flat()]) connection.close();
    for (const connection of this.#subscriptions) connection.close();
    // Not in the same turn: Node fails if the process ends while messages that came with the stop message are delivered.
    setImmediate(() => process.disconnect());
  }

  #tellRunning(): void {
    this.#tellProgress([...this.#running.values()].reduce((sum, lane) => sum + lane.done, 0));
  }

  #tellProgress(done: number): void {
    const nowMs = performance.now();
    if (nowMs - this.#toldMs < tellEveryMs) return;
    this.#toldMs = nowMs;
    tell({ kind: "progress", done });
  }
}

const signInsAtOnceMax = 32;
/** Where keys are accepted at once. */
const askAgainMs = 500;
/** As real minions (`acceptance_wait_time`), where an operator accepts keys: thousands that ask more often would load the master. */
const askAgainWaitingMs = 10_000;

/** Others sign in while one waits. @throws SaltworksError AUTH_FAILED */
async function untilAccepted(
  signInOnce: () => Promise<StormMinion | undefined>,
  id: string,
  acceptTimeoutMs: number,
): Promise<StormMinion> {
  const endMs = performance.now() + acceptTimeoutMs;
  for (;;) {
    const minion = await signInOnce();
    if (minion !== undefined) return minion;
    if (performance.now() > endMs)
      throw unaccepted(id, `its key waits for acceptance since ${acceptTimeoutMs / 1_000} s`);
    await wait(acceptTimeoutMs > askAgainWaitingMs ? askAgainWaitingMs : askAgainMs);
  }
}

/** Of several masters, each line has one, and stays with it. */
async function openLines({ host, masters }: SignIn, count: number): Promise<Line[]> {
  const gate = new Gate(signInsAtOnceMax);
  const openLine = async (_: unknown, at: number): Promise<Line> => {
    const port = masters[at % masters.length]?.requestPort ?? 0;
    const open = () => gate.run(() => Connection.open({ host, port, type: "REQ" }));
    const line: Line = {
      connection: await open(),
      reopen: async () => {
        line.connection.close();
        line.connection = await open();
      },
    };
    return line;
  };
  return Promise.all(Array.from({ length: count }, openLine));
}

/** Ignores an owner that died before a message reached it, because `disconnect` follows. */
function tell(message: FromStormProcess): void {
  process.send?.(message, undefined, undefined, (error) => {
    if (error !== null && (error as NodeJS.ErrnoException).code !== "EPIPE") throw error;
  });
}

const storm = new StormProcess();

async function obey(message: ToStormProcess): Promise<void> {
  switch (message.kind) {
    case "sign-in":
      await storm.signIn(message);
      return tell({ kind: "done" });
    case "prepare-returns":
      storm.prepareReturns(message);
      return tell({ kind: "done" });
    case "prepare-job-returns":
      await storm.prepareJobReturns(message);
      return tell({ kind: "done" });
    case "prepare-auths":
      await storm.prepareAuths(message);
      return tell({ kind: "done" });
    case "prepare-asks":
      await storm.prepareAsks(message);
      return tell({ kind: "done" });
    case "prepare-scripts":
      await storm.prepareScripts(message);
      return tell({ kind: "done" });
    case "respond":
      storm.respond(message);
      return tell({ kind: "done" });
    case "responded":
      return tell({ kind: "done", report: storm.responded(message.isReset) });
    case "plan":
      storm.plan(message);
      return tell({ kind: "done" });
    case "run":
      return tell({ kind: "done", outcome: await storm.run(message) });
    case "published":
      return storm.published(message);
    case "abandon":
      return storm.abandon();
    case "stop":
      return storm.stop();
    default: {
      const never: never = message;
      throw new TypeError(`unknown message ${String(never)}`);
    }
  }
}

process.on("message", (message: ToStormProcess) => {
  obey(message).catch((error: unknown) => {
    tell({ kind: "fault", message: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  });
});
// Ends with its owner, so that no storm loads a master unattended.
process.on("disconnect", () => process.exit(0));
