/** The load of a cluster under faults: jobs from any member, and keys that are accepted and deleted on any member. */
import type { Random } from "../../../bench/load/random.ts";
import type { Loops } from "./loops.ts";
import type { FaultSite } from "./site.ts";

/** On each member, whose silence does not hold the jobs of the others up. */
const jobEveryMs = 750;
const keyEveryMs = 1_500;

/** `deleted`: every member had the same key when one of them deleted it, and the member has acknowledged that. */
export type KeyEnd = "deleted" | "other";

export class FaultLoad {
  readonly jids: string[] = [];
  /** How the last change of each key ended. */
  readonly keys = new Map<string, KeyEnd>();
  readonly #site: FaultSite;
  readonly #random: Random;

  constructor(site: FaultSite, random: Random) {
    this.#site = site;
    this.#random = random;
  }

  start(loops: Loops): void {
    for (const at of this.#site.members.keys()) loops.add(jobEveryMs, () => this.publish(at));
    loops.add(keyEveryMs, () => this.#changeKey());
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
    const client = this.#site.any(this.#random).client();
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
}
