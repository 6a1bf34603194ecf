/**
 * The reactor: looks at the tag of each event of the bus, hands events that match an entry of `reactor` to its lane, which renders the files, and
 * starts the reactions that come back. Nothing waits for it: what is too much is dropped and counted. docs/reactor.md.
 */
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { equalSecrets } from "../../crypto/compare.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import { reactorEventsAtOnceMax } from "../../limits.ts";
import type { ReactorQuestion } from "../../runners/contract/contract.ts";
import { isMastersAt, tagIn } from "../../wire/event.ts";
import { frameLength } from "../../wire/event-framing.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import { pickEntries } from "../../wire/pick.ts";
import type { Encodable } from "../../wire/values.ts";
import { bufferOf } from "../../wire/walk.ts";
import { Histogram, secondsBounds } from "../../workers/measures/histogram.ts";
import type { ReactorAnswer, ReactorTask } from "../../workers/messages/reactor.ts";
import type { WorkerStart } from "../../workers/messages/worker.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";
import type { Bus } from "../ports/bus.ts";
import type { OpenSidecar } from "../sidecar/open.ts";
import { ReactorEntries } from "./entries.ts";
import { type ReactionCommands, Reactions } from "./reactions.ts";
import { reactorSettings } from "./settings.ts";
import { type WaitingEvent, WaitingEvents } from "./waiting.ts";

export type ReactorParts = {
  readonly config: MasterConfig;
  readonly bus: Pick<Bus, "fire" | "reactor">;
  readonly reactions: Pick<LanePool, "run">;
  readonly sidecar: Pick<OpenSidecar, "calls"> | undefined;
  readonly start: Pick<WorkerStart, "localKeys">;
  readonly logger: Pick<Logger, "warn" | "error" | "info">;
};

/** Part of the tags by which programs show and change the entries. */
const manageTag = "salt/reactors/manage";

export class Reactor {
  /** `taken`: handed to the lane and rendered. `own`: of the reactor's own calls. `failed`: a file of the event failed. */
  readonly counters = { taken: 0, own: 0, failed: 0, dropped: 0, timeouts: 0 };
  readonly reactions: Reactions;
  readonly isOn: boolean;
  readonly times = { wait: new Histogram(secondsBounds), render: new Histogram(secondsBounds) };
  slowestSeconds = 0;
  readonly #parts: ReactorParts;
  readonly #entries: ReactorEntries;
  readonly #waiting: WaitingEvents;
  #isLeader = true;
  #isRendering = false;
  #isClosed = false;
  #underWay = 0;

  constructor(parts: ReactorParts, commands: ReactionCommands) {
    const { config, bus, logger } = parts;
    const settings = reactorSettings(config);
    this.#parts = parts;
    this.isOn = settings.isOn;
    this.#entries = new ReactorEntries(settings.entries);
    this.#waiting = new WaitingEvents(settings.waitingMax);
    this.reactions = new Reactions({
      ...{ commands, logger },
      callsAtOnceMax: settings.callsAtOnceMax,
      callsWaitingMax: settings.waitingMax,
    });
    for (const entry of settings.ignored)
      logger.warn({ entry }, "an entry of reactor is ignored: it is not a map of one tag and its files");
    if (settings.isOn) bus.reactor = (frames) => this.#look(bufferOf(frames));
  }

  get waitingCount(): number {
    return this.#waiting.count;
  }

  get waitingBytes(): number {
    return this.#waiting.bytes;
  }

  /** For the runner `reactor`. @throws SaltworksError FUNCTION_FAILED without a reactor */
  manage(question: ReactorQuestion): Promise<Uint8Array> {
    if (!this.isOn) return Promise.reject(new SaltworksError("FUNCTION_FAILED", "Reactor system is not running."));
    return Promise.resolve(encode(this.#manage(question), "bin"));
  }

  close(): void {
    this.#isClosed = true;
    this.#parts.bus.reactor = undefined;
    const { waitingCount: events, reactions } = this;
    const calls = reactions.callsWaiting;
    if (events + calls > 0)
      this.#parts.logger.warn({ events, calls }, "the reactor ends before events and calls that waited for it");
    reactions.close();
  }

  #look(frames: Buffer): void {
    for (let start = 0; start < frames.length; ) {
      const end = start + frameLength(frames, start);
      const { tag, dataStart } = tagIn(frames, start);
      if (tag.includes(manageTag)) this.#obey(tag, frames.subarray(dataStart, end));
      else this.#consider(tag, frames.subarray(dataStart, end), isMastersAt(frames, start));
      start = end;
    }
  }

  #consider(tag: string, packed: Buffer, isMasters: boolean): void {
    if (!this.#isLeader) return;
    const files = this.#entries.filesOf(tag, performance.now());
    if (files.length === 0) return;
    // A copy, because the bus still writes these frames to its subscribers.
    const data = Uint8Array.prototype.slice.call(packed);
    if (this.#waiting.offer(minionOf(data), { tag, data, files, isMasters, atMs: performance.now() })) {
      this.#pump();
      return;
    }
    this.counters.dropped += 1;
    this.#parts.logger.warn({ tag, waiting: this.#waiting.count }, "the reactor drops an event: too many wait");
  }

  // Rendering and starting

  #pump(): void {
    if (this.#isRendering || this.#isClosed || this.#underWay >= reactorEventsAtOnceMax) return;
    const events = this.#waiting.take();
    if (events.length === 0) return;
    this.#isRendering = true;
    void this.#render(events).finally(() => {
      this.#isRendering = false;
      this.#pump();
    });
  }

  async #render(events: readonly WaitingEvent[]): Promise<void> {
    const startedMs = performance.now();
    for (const { atMs } of events) this.times.wait.observe((startedMs - atMs) / 1_000);
    const outcome = await this.#inLane(events);
    if (!(outcome instanceof Error)) {
      const seconds = (performance.now() - startedMs) / 1_000;
      this.times.render.observe(seconds / events.length);
      this.slowestSeconds = Math.max(this.slowestSeconds, seconds);
      for (const [index, event] of events.entries()) await this.#begin(event, outcome[index]);
      return;
    }
    if (hasCode(outcome, "CHANNEL_CLOSED")) return;
    // One event may have ended the thread for all of the task: each has another try alone. Rendering changes nothing, so it may be repeated.
    if (events.length > 1) for (const event of events) await this.#renderAlone(event);
    else for (const event of events) this.#fail(event, outcome);
  }

  /** An event whose entries rest meanwhile counts as failed. */
  async #renderAlone(event: WaitingEvent): Promise<void> {
    const files = this.#entries.filesOf(event.tag, performance.now());
    if (files.length > 0) await this.#render([{ ...event, files }]);
    else this.counters.failed += 1;
  }

  async #inLane(events: readonly WaitingEvent[]): Promise<readonly ReactorAnswer[] | Error> {
    const task: ReactorTask = { events: events.map(({ tag, data, files }) => ({ tag, data, files })) };
    try {
      return await this.#besidePython(task, await this.#parts.reactions.run<readonly ReactorAnswer[]>(task));
    } catch (error) {
      return error as Error;
    }
  }

  /** Events whose files need the site's own Python are rendered again, by a thread that waits for it. */
  async #besidePython({ events }: ReactorTask, answers: readonly ReactorAnswer[]): Promise<readonly ReactorAnswer[]> {
    const { sidecar, reactions } = this.#parts;
    const needing = events.filter((_, index) => answers[index]?.needsPython === true);
    if (needing.length === 0 || sidecar === undefined) return answers;
    const again = await sidecar.calls.withLine((line) =>
      reactions.run<readonly ReactorAnswer[]>({ events: needing, line } satisfies ReactorTask, {
        transfer: [line.port],
      }),
    );
    const left = [...again];
    return answers.map((answer) => (answer.needsPython === true ? (left.shift() ?? answer) : answer));
  }

  #fail({ tag, files }: WaitingEvent, error: Error): void {
    this.counters.failed += 1;
    if (!hasCode(error, "TASK_TIMEOUT")) {
      this.#parts.logger.error({ tag, files, err: error }, "the reactor's thread failed at an event");
      return;
    }
    this.counters.timeouts += 1;
    this.slowestSeconds = Math.max(this.slowestSeconds, this.#parts.config.reactor_render_timeout);
    const resting = this.#entries.rest(tag, performance.now());
    this.#parts.logger.error(
      { tag, files, resting },
      "files of the reactor took longer than reactor_render_timeout: their entries rest for a minute",
    );
  }

  /** Does not wait for the jobs of the event unless those of `reactorEventsAtOnceMax` events are under way. */
  async #begin({ tag }: WaitingEvent, answer: ReactorAnswer | undefined): Promise<void> {
    if (answer === undefined) return;
    if (answer.isOwn) {
      this.counters.own += 1;
      return;
    }
    this.counters[answer.faults.length > 0 ? "failed" : "taken"] += 1;
    for (const fault of answer.faults) this.#parts.logger.error({ tag, fault }, "a file of the reactor failed");
    if (answer.reactions.length === 0) return;
    this.#underWay += 1;
    const started = this.reactions.start(tag, answer.reactions).finally(() => {
      this.#underWay -= 1;
      this.#pump();
    });
    if (this.#underWay >= reactorEventsAtOnceMax) await started;
  }

  // Management

  /** Obeys an event of a program that knows the master's key, and answers by an event, as Salt. */
  #obey(tag: string, packed: Uint8Array): void {
    const action = /salt\/reactors\/manage\/(add|delete|list|is_leader|set_leader)$/.exec(tag)?.[1];
    if (action === undefined) return;
    const { start, config, logger } = this.#parts;
    const data = mapOf(packed);
    const key = data.get("key");
    const masterKey = start.localKeys.get(config.user);
    if (masterKey === undefined || typeof key !== "string" || !equalSecrets(key, masterKey)) {
      logger.error({ tag }, "an event that would change the reactor is discarded: its key is not the master's");
      return;
    }
    const event = String(data.get("event") ?? "");
    const reactors = data.get("reactors");
    const files = (Array.isArray(reactors) ? reactors : [reactors ?? ""]).map(String);
    const isMeant = action !== "set_leader" || data.get("id") === config.id;
    if (action === "add") this.#manage({ action, event, reactors: files });
    else if (action === "delete") this.#manage({ action, event });
    else if (action === "set_leader" && isMeant) this.#manage({ action, isLeader: data.get("value") === true });
    else this.#manage({ action: action === "list" ? action : "is_leader" });
  }

  /** @returns the answer, which is also fired as Salt's event */
  #manage(question: ReactorQuestion): Encodable {
    const { bus } = this.#parts;
    if (question.action === "list") {
      bus.fire(`${manageTag}/list-results`, { reactors: this.#entries.list() });
      return this.#entries.list();
    }
    if (question.action === "add" || question.action === "delete") {
      const { action, event } = question;
      const result = action === "add" ? this.#entries.add(event, question.reactors) : this.#entries.delete(event);
      bus.fire(`${manageTag}/${action}-complete`, { reactors: this.#entries.list(), result });
      return result;
    }
    if (question.action === "set_leader") this.#isLeader = question.isLeader;
    bus.fire(`${manageTag}/leader/value`, { result: this.#isLeader });
    return this.#isLeader;
  }
}

const idOnly = new Set(["id"]);

/** The minion that an event is about; empty for others. */
function minionOf(data: Uint8Array): string {
  try {
    const id = pickEntries(data, idOnly).get("id");
    return typeof id === "string" ? id : "";
  } catch {
    // The lane says that the event cannot be read.
    return "";
  }
}

function mapOf(packed: Uint8Array): ReadonlyMap<unknown, unknown> {
  try {
    const data = decode(packed);
    return data instanceof Map ? data : new Map();
  } catch {
    // Without a key the event is discarded, which the log tells.
    return new Map();
  }
}
