/**
 * The transcripts that depend on the master's options or on an absent minion: the master is restarted for them, and its minions keep running.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { SeenEvent } from "../../interop/event-watch.ts";
import { goldenIds } from "./files.ts";
import type { GoldenFleet } from "./fleet.ts";
import { type Decisions, type Replay, type TopicPlan, topicLanes } from "./replay.ts";

const away = "es2";
const awayTimeoutMs = 60_000;
const pollMs = 250;

/** Presence is verified contact here: a stopped minion counts as absent after this many seconds. */
const quickPresence = { presence_timeout: 10 };
const uniqueJids = { unique_jid: true, presence_events: true, loop_interval: 5 };

/**
 * es2's data are missing while commands are typed that ask which minions are expected then. For Salt its directory was moved away, and put back
 * without its grains. Here the master forgets the data by command, and gets them again afterwards.
 */
async function arrangeGreedy(fleet: GoldenFleet, name: string): Promise<void> {
  if (name === "grain_no_cache_preview") await fleet.ask(["salt-run", "cache.clear_all", `tgt=${away}`]);
  if (name === "only_mine_preview") {
    await fleet.ask(["salt", away, "mine.update"]);
    await fleet.ask(["salt-run", "cache.clear_grains", `tgt=${away}`]);
  }
  if (name === "restored") {
    await fleet.ask(["salt", away, "saltutil.refresh_pillar"]);
    await fleet.ask(["salt", away, "mine.update"]);
  }
}

/** Presence rounds, in which the minions of a new master appear, begin with the change. */
async function untilAllTold(fleet: GoldenFleet, name: string): Promise<void> {
  if (name !== "presence") return;
  const watch = await fleet.watchEvents();
  const isWhole = ({ tag, data }: SeenEvent) =>
    tag === "salt/presence/present" && (data.get("present") as unknown[]).length === goldenIds.length;
  await watch.until("a round with all minions", isWhole, awayTimeoutMs).finally(() => watch.close());
}

/** One lane: its commands run one after the other. */
const oneLane = (): string => "one";

export class ChangedMasters {
  readonly #fleet: GoldenFleet;
  readonly #replay: Replay;
  readonly #decisions: Decisions;

  constructor(fleet: GoldenFleet, replay: Replay, decisions: Decisions) {
    this.#fleet = fleet;
    this.#replay = replay;
    this.#decisions = decisions;
  }

  /** The same master, with changed knowledge of one minion. */
  typeGreedy(): Promise<void> {
    return this.type({ topic: "greedy", laneOf: oneLane, beforeEach: arrangeGreedy, processes: /^restored$/ });
  }

  /** A new master that tells who is present, and one that soon notices absent minions: there a busy machine's minions would seem to come and go. */
  async typePresence(): Promise<void> {
    await this.#fleet.restartMaster(uniqueJids);
    await this.type({ topic: "unique_jid_presence", laneOf: oneLane, beforeEach: untilAllTold, processes: /^lookup$/ });
    await this.#fleet.restartMaster(quickPresence);
    this.#fleet.freeze(away);
    await this.#untilAway();
    await this.type({ topic: "not_connected", processes: /^(?:silent_color|manage_not_present)$/ });
    this.#fleet.thaw(away);
  }

  /** A new master that stores no returns. */
  async typeWithoutCaches(): Promise<void> {
    await this.#fleet.restartMaster({ minion_data_cache: false, job_cache: false });
    await this.type(
      { topic: "minion_data_cache_off", processes: /^compound_preview$/ },
      { topic: "job_cache_off", laneOf: oneLane },
    );
    // The last job is found also while the master is down, because `job_cache: False` leaves out returns, not requests.
    await this.#fleet.ask(["salt", "es1", "test.ping"]);
  }

  async type(...plans: readonly TopicPlan[]): Promise<void> {
    await this.#replay.runLanes(plans.flatMap((plan) => topicLanes(plan, this.#decisions)));
  }

  async #untilAway(): Promise<void> {
    const deadlineMs = performance.now() + awayTimeoutMs;
    while (!(await this.#fleet.ask(["salt-run", "manage.not_present", "--out=json"])).stdout.includes(`"${away}"`)) {
      if (performance.now() > deadlineMs) throw new Error(`${away} is present after ${awayTimeoutMs} ms`);
      await delay(pollMs);
    }
  }
}
