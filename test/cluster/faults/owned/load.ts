/** The load of jobs that go on: batch jobs, jobs that wait for absent minions, and what operators do with them, each at any member. */
import type { Random } from "../../../../bench/load/random.ts";
import type { LocalClient } from "../../../../bench/local-client.ts";
import { hasCode } from "../../../../src/errors.ts";
import type { Loops } from "../loops.ts";
import type { MovingMinion } from "../minions/minion.ts";
import type { FaultSite } from "../site.ts";

/** On each member. */
const batchEveryMs = 24_000;
const waitingEveryMs = 15_000;
const controlEveryMs = 6_000;
const cancelEveryMs = 10_000;
const awayEveryMs = 2_500;
const awayShare = 0.25;
const waitedForMax = 8;
/** One of this number may be withdrawn. The others must reach their minions. */
const cancelledEach = 4;
/** Longer than a clock may jump, so that no job's window ends in a run. */
const deliverWithin = "12h";
/** Controls go to the latest jobs, which are mostly not over. */
const controlledMax = 6;
const shortTimes = { timeout: 3, gather_job_timeout: 5 };

export type Action = "pause" | "resume" | "abort";
/** `refusedMs`: when a member said that it had not begun it. Without `jid` and `refusedMs` the member was silent. */
type Asked = { readonly label: string; jid: string | undefined; refusedMs: number | undefined };
export type AskedBatch = Asked & { readonly controls: { readonly action: Action; readonly doneMs: number }[] };
/** `isCancelled`: a member was asked to withdraw it, with any outcome. */
export type AskedWait = Asked & {
  minions: readonly string[];
  isCancelled: boolean;
  readonly withdrawn: { readonly ids: readonly string[]; readonly doneMs: number }[];
};

export class OwnedLoad {
  readonly batches: AskedBatch[] = [];
  readonly waits: AskedWait[] = [];
  /** How often an operator's command was carried out, by its name. */
  readonly done = new Map<string, number>();
  readonly #site: FaultSite;
  readonly #minions: readonly MovingMinion[];
  readonly #random: Random;

  constructor(site: FaultSite, minions: readonly MovingMinion[], random: Random) {
    this.#site = site;
    this.#minions = minions;
    this.#random = random;
  }

  start(loops: Loops): void {
    for (const at of this.#site.members.keys()) {
      loops.add(batchEveryMs, () => this.#with(at, (client) => this.#beginBatch(client)));
      loops.add(waitingEveryMs, () => this.#with(at, (client) => this.#beginWait(client)));
      loops.add(controlEveryMs, () => this.#with(at, (client) => this.#control(client)));
    }
    loops.add(cancelEveryMs, () =>
      this.#with(this.#below(this.#site.members.length), (client) => this.#cancel(client)),
    );
    loops.add(awayEveryMs, () => this.#moveOne());
  }

  allBack(): void {
    for (const minion of this.#minions) if (minion.isAway) this.#comeBack(minion);
  }

  async #beginBatch(client: LocalClient): Promise<void> {
    const batch: AskedBatch = {
      label: `batch ${this.batches.length}`,
      jid: undefined,
      refusedMs: undefined,
      controls: [],
    };
    this.batches.push(batch);
    const isWhole = this.#random() < 0.5;
    const options = {
      size: this.#pick(["2", "5", "20%", "50%"]),
      wait: this.#pick([0, 0, 1]),
      failhard: this.#random() < 0.1,
      canary: this.#pick([0, 0, 0, 2]),
      max_failures: this.#pick(["", "", "3", "30%"]),
      static: false,
    };
    const target = isWhole ? "min*" : this.#some(Math.ceil(this.#minions.length / 3));
    await this.#publish(client, batch, target, this.#pick(["true", "true", "sometimes"]), {
      batch: options,
      follow: shortTimes,
    });
  }

  async #beginWait(client: LocalClient): Promise<void> {
    const label = `waiting job ${this.waits.length}`;
    const wait: AskedWait = {
      label,
      jid: undefined,
      refusedMs: undefined,
      minions: [],
      isCancelled: false,
      withdrawn: [],
    };
    this.waits.push(wait);
    const away = this.#minions.filter(({ isAway }) => isAway).map(({ id }) => id);
    const target = [...new Set([...away.slice(0, waitedForMax / 2), ...this.#some(1 + this.#below(waitedForMax))])];
    wait.minions = await this.#publish(client, wait, target, "true", { deliver_within: deliverWithin });
  }

  async #publish(
    client: LocalClient,
    asked: Asked,
    target: string | readonly string[],
    command: string,
    more: Parameters<LocalClient["publish"]>[5],
  ): Promise<readonly string[]> {
    const kind = typeof target === "string" ? "glob" : "list";
    try {
      const { jid, minions } = await client.publish(target, "cmd.run", [command, asked.label], kind, "", more);
      asked.jid = jid;
      return minions;
    } catch (error) {
      if (hasCode(error, "REQUEST_REFUSED")) asked.refusedMs = performance.now();
      throw error;
    }
  }

  async #control(client: LocalClient): Promise<void> {
    const batch = this.#latest(this.batches);
    if (batch?.jid === undefined) return;
    const action = this.#pick<Action>(["pause", "pause", "resume", "resume", "resume", "abort"]);
    const { isSuccess } = await client.runner(`jobs.${action}`, [batch.jid]);
    if (!isSuccess) return;
    batch.controls.push({ action, doneMs: performance.now() });
    this.#count(action);
  }

  async #cancel(client: LocalClient): Promise<void> {
    const wait = this.#latest(this.waits.filter((_, at) => at % cancelledEach === 0));
    if (wait?.jid === undefined) return;
    wait.isCancelled = true;
    const { isSuccess, value } = await client.runner("jobs.cancel", [wait.jid]);
    if (!isSuccess || !(value instanceof Map)) return;
    const ids = value.get(wait.jid);
    wait.withdrawn.push({ ids: Array.isArray(ids) ? ids.map(String) : [], doneMs: performance.now() });
    this.#count("cancel");
  }

  #moveOne(): void {
    const minion = this.#minions[this.#below(this.#minions.length)];
    if (minion === undefined) return;
    const awayCount = this.#minions.filter(({ isAway }) => isAway).length;
    if (!minion.isAway && awayCount < this.#minions.length * awayShare) minion.leave();
    const back = this.#minions.filter(({ isAway }) => isAway)[this.#below(this.#minions.length)];
    if (back !== undefined && back !== minion) this.#comeBack(back);
  }

  #comeBack(minion: MovingMinion): void {
    minion.comeBack(this.#below(this.#site.members.length));
  }

  async #with(at: number, step: (client: LocalClient) => Promise<void>): Promise<void> {
    const client = this.#site.member(at).client();
    try {
      await step(client);
    } finally {
      client.close();
    }
  }

  #latest<One extends Asked>(all: readonly One[]): One | undefined {
    const latest = all.filter(({ jid }) => jid !== undefined).slice(-controlledMax);
    return latest[this.#below(latest.length)];
  }

  #some(count: number): string[] {
    return Array.from({ length: count }, () => `min${this.#below(this.#minions.length)}`);
  }

  #count(name: string): void {
    this.done.set(name, (this.done.get(name) ?? 0) + 1);
  }

  #pick<Value>(values: readonly [Value, ...Value[]]): Value {
    return values[this.#below(values.length)] ?? values[0];
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count);
  }
}
