/** The load of a cluster under faults: jobs from any member, and keys that are accepted and deleted on any member. */
import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../../../bench/load/random.ts";
import { SaltworksError } from "../../../src/errors.ts";
import type { FaultSite } from "./site.ts";

const jobEveryMs = 250;
const keyEveryMs = 1_500;

export type KeyEnd = "accepted" | "deleted" | "unknown";

export class FaultLoad {
  readonly jids: string[] = [];
  readonly refusals = new Map<string, number>();
  /** The last state of each key that a member has acknowledged, if no later change failed. */
  readonly keys = new Map<string, KeyEnd>();
  readonly #site: FaultSite;
  readonly #random: Random;
  #isStopping = false;
  #loops: Promise<unknown> = Promise.resolve();

  constructor(site: FaultSite, random: Random) {
    this.#site = site;
    this.#random = random;
  }

  start(): void {
    this.#loops = Promise.all([
      this.#repeat(jobEveryMs, () => this.publish(this.#any())),
      this.#repeat(keyEveryMs, () => this.#changeKey()),
    ]);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#loops;
  }

  /** @throws SaltworksError if the member does not publish it */
  async publish(at: number): Promise<string> {
    const client = this.#site.member(at).client();
    try {
      const { jid } = await client.publish("min*", "cmd.run", ["true"]);
      this.jids.push(jid);
      return jid;
    } finally {
      client.close();
    }
  }

  async #changeKey(): Promise<void> {
    const id = `spare${Math.floor(this.#random() * 5)}`;
    const client = this.#site.member(this.#any()).client();
    const isDeletion = this.keys.get(id) === "accepted";
    this.keys.set(id, "unknown");
    try {
      if (isDeletion) await client.wheel("key.delete", { match: id });
      else await client.wheel("key.gen_accept", { id_: id, force: true });
      this.keys.set(id, isDeletion ? "deleted" : "accepted");
    } finally {
      client.close();
    }
  }

  async #repeat(everyMs: number, step: () => Promise<unknown>): Promise<void> {
    while (!this.#isStopping) {
      try {
        await step();
      } catch (error) {
        const why = error instanceof SaltworksError ? error.code : (error as NodeJS.ErrnoException).code;
        if (why === undefined) throw error;
        this.refusals.set(why, (this.refusals.get(why) ?? 0) + 1);
      }
      await delay(everyMs * (0.5 + this.#random()));
    }
  }

  #any(): number {
    return Math.floor(this.#random() * this.#site.members.length);
  }
}
