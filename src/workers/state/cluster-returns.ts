/** A worker's part in a cluster: sends each batch's returns to the other members, and remembers returns that the cluster did not take. */
import type { SharedReturn } from "../../cluster/returns/message.ts";
import type { ReturnSender } from "../../cluster/returns/sender.ts";
import { hasCode } from "../../errors.ts";
import { untoldReturnsMax } from "../../limits.ts";
import type { ClusterStart } from "../messages/worker.ts";

type Key = Pick<SharedReturn, "jid" | "minionId">;

export class ClusterReturns {
  readonly #sender: ReturnSender;
  readonly #refusals: Int32Array;
  /** Refused returns, oldest first: no event has told of them here, although they are stored. */
  readonly #untold = new Set<string>();
  #givenUp = 0;

  private constructor(sender: ReturnSender, refusals: SharedArrayBuffer) {
    this.#sender = sender;
    this.#refusals = new Int32Array(refusals);
  }

  /** Loads the code of NATS, which a master without a cluster does not need. `onLost`: called when a new connection is needed, which is made. */
  static async open(start: ClusterStart, onLost: (error: Error) => void): Promise<ClusterReturns> {
    const { openReturnSender } = await import("../../cluster/returns/sender.ts");
    return new ClusterReturns(openReturnSender(start, onLost), start.refusals);
  }

  get counters(): Readonly<Record<string, number>> {
    const named = Object.entries(this.#sender.counters).map(([name, value]) => [`cluster.${name}`, value]);
    return { ...Object.fromEntries(named), "cluster.untold": this.#untold.size, "cluster.givenUp": this.#givenUp };
  }

  /** Copies the returns at once. Resolves to whether the cluster has them. */
  async share(returns: readonly SharedReturn[]): Promise<boolean> {
    try {
      await this.#sender.send(returns);
    } catch (error) {
      if (!hasCode(error, "CLUSTER_UNAVAILABLE")) throw error;
      Atomics.add(this.#refusals, 0, 1);
      for (const one of returns) this.#noteUntold(one);
      return false;
    }
    if (this.#untold.size > 0) for (const one of returns) this.wasUntold(one);
    return true;
  }

  /** Notes that a return is not sent again, so that only this member has it. */
  noteGivenUp(): void {
    this.#givenUp += 1;
  }

  /** @throws SaltworksError CLUSTER_UNAVAILABLE; `isSlow` in its detail if a large return was on its way for too long */
  async sendAgain(returns: readonly SharedReturn[]): Promise<void> {
    await this.#sender.send(returns);
  }

  /** Whether no event has told of a return that is stored. From now on it counts as told. */
  wasUntold(key: Key): boolean {
    return this.#untold.delete(textOf(key));
  }

  async close(): Promise<void> {
    await this.#sender.close();
  }

  #noteUntold(key: Key): void {
    this.#untold.add(textOf(key));
    const [oldest] = this.#untold;
    if (this.#untold.size > untoldReturnsMax && oldest !== undefined) this.#untold.delete(oldest);
  }
}

function textOf({ jid, minionId }: Key): string {
  return `${jid}\0${minionId}`;
}

/** Number of refused batches of all workers. */
export function refusedBatches(refusals: SharedArrayBuffer): number {
  return Atomics.load(new Int32Array(refusals), 0);
}

export function newRefusals(): SharedArrayBuffer {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
}
