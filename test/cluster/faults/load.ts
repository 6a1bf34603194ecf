/** The load of a cluster under faults: jobs from any member, and keys that are accepted and deleted on any member. */
import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../../../bench/load/random.ts";
import { SaltworksError } from "../../../src/errors.ts";
import type { FaultSite } from "./site.ts";

/** On each member, whose silence does not hold the jobs of the others up. */
const jobEveryMs = 750;
const keyEveryMs = 1_500;

/** `deleted`: every member had the same key when one of them deleted it, and the member has acknowledged that. */
export type KeyEnd = "deleted" | "other";

export class FaultLoad {
  readonly jids: string[] = [];
  readonly refusals = new Map<string, number>();
  /** How the last change of each key ended. */
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
      ...this.#site.members.map((_, at) => this.#repeat(jobEveryMs, () => this.publish(at))),
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
    const [key, ...others] = this.#site.members.map((member) => member.acceptedKey(id));
    this.keys.set(id, "other");
    try {
      if (key === undefined) {
        await client.wheel("key.gen_accept", { id_: id, force: true });
        return;
      }
      await client.wheel("key.delete", { match: id });
      // What one member has not heard of yet is not deleted there: a key that is accepted at the same time stays.
      if (others.every((other) => other === key)) this.keys.set(id, "deleted");
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
