/**
 * Keeps the accepted minions in step with the key directories, which any program may change, and rotates the master's AES key: when a key is
 * removed, publishes get a new AES key at once. One command causes one rotation.
 */
import type { Logger } from "pino";
import { generateKeyString } from "../../crypto/crypticle.ts";
import type { KeyChange, KeyWatch } from "../../store/keys/keys.ts";
import type { MasterSecrets } from "../../store/secrets/secrets.ts";
import type { MasterKeys } from "../../workers/messages/shard.ts";
import { bootMs } from "./clock-step.ts";

/** Salt's tools write the dropfile after the last key is gone. A dropfile within this time after a removal belongs to the same command. */
const dropfileLagMsMax = 5_000;

export type KeyRingOptions = {
  readonly secrets: MasterSecrets;
  readonly accepted: Set<string>;
  readonly graceMs: number;
  readonly rotatesOnRemoval: boolean;
  /** A clock that is never set. */
  readonly steadyMs?: () => number;
  readonly sessionMs: number;
  readonly logger: Logger;
  /** X9.31 signature of an AES key by the master's key. */
  readonly signMasterKey: (aes: string) => Promise<Uint8Array>;
  readonly distributeKeys: (keys: MasterKeys) => Promise<void>;
  /** @returns `replaced`: ids whose file holds another key than their worker served. `fault`: why a worker did not answer */
  readonly distributeChange: (change: {
    added: string[];
    removed: string[];
    changed: string[];
  }) => Promise<{ readonly replaced: readonly string[]; readonly fault: unknown }>;
  /** The id's key was removed or replaced. */
  readonly onRemoved: (id: string) => void;
  readonly fire: (tag: string, data: { readonly [key: string]: boolean }) => void;
  /** Keeps publishes out while key and serial change. */
  readonly exclusively: (step: () => Promise<void>) => Promise<void>;
  readonly onRotated: () => void;
};

export class KeyRing {
  readonly counters = { rotations: 0, added: 0, removed: 0, changed: 0 };
  readonly #options: KeyRingOptions;
  readonly #steadyMs: () => number;
  /** When the key has served its time, by `#steadyMs`. */
  #dueMs: number;
  #rotatedForRemovalMs = Number.NEGATIVE_INFINITY;
  /** The rest of a failed rotation: all of it, or only telling every worker of the key in use. */
  #owed: "nothing" | "a rotation" | "telling" = "nothing";
  #watch: Pick<KeyWatch, "noteServed" | "lookForNew"> | undefined;
  /** Changes and rotations happen one after the other. */
  #tail: Promise<unknown> = Promise.resolve();
  /** The last addition of keys that some worker does not know yet. All earlier ones settle before it. */
  #addition: Promise<unknown> | undefined;

  constructor(options: KeyRingOptions) {
    this.#options = options;
    this.#steadyMs = options.steadyMs ?? bootMs;
    // A key from the future means that the clock was set back.
    const ageMs = Math.min(Math.max(0, Date.now() - options.secrets.createdMs), options.sessionMs);
    this.#dueMs = this.#steadyMs() + options.sessionMs - ageMs;
  }

  /** The keys in use, as workers start with them. */
  static async presentKeys(
    secrets: MasterSecrets,
    signMasterKey: (aes: string) => Promise<Uint8Array>,
  ): Promise<MasterKeys> {
    return { aes: secrets.aes, signature: await signMasterKey(secrets.aes), former: secrets.former };
  }

  /** From now on keys that workers accept themselves are compared with the directory. */
  useWatch(watch: Pick<KeyWatch, "noteServed" | "lookForNew">): void {
    this.#watch = watch;
  }

  /** A worker accepted these ids itself. It owns them; the others learn of them from the directory watch. */
  noteAccepted(ids: readonly string[]): void {
    for (const id of ids) this.#options.accepted.add(id);
    // The file may have been removed or replaced already, without another event of the directory.
    this.#watch?.noteServed(ids);
  }

  /** Settles when every worker knows the keys that other programs have put into the directory. Undefined if they know them already. */
  lookForNew(): Promise<unknown> | undefined {
    this.#watch?.lookForNew();
    return this.#addition;
  }

  /** Applies a change that the directory watch saw. Settles when every worker knows it and, if a key was removed, the rotation is done. */
  apply(change: KeyChange): Promise<void> {
    const turn = this.#enqueue(() => this.#apply(change));
    if (change.added.length > 0) this.#noteAddition(this.#tail);
    return turn;
  }

  /** @param settled settles when the change is applied, or has failed */
  #noteAddition(settled: Promise<unknown>): void {
    this.#addition = settled;
    void settled.then(() => {
      if (this.#addition === settled) this.#addition = undefined;
    });
  }

  /** Rotates if the key has served `publish_session` by a clock that is never set, or if a rotation failed. */
  rotateIfDue(): Promise<void> {
    return this.#enqueue(async () => {
      if (this.#owed === "telling") await this.#tell("the last rotation was not told to every worker");
      else if (this.#owed === "a rotation") await this.#rotate("the last rotation failed");
      else if (this.#steadyMs() > this.#dueMs) await this.#rotate("publish_session is over");
    });
  }

  async #apply(change: KeyChange): Promise<void> {
    const { accepted } = this.#options;
    for (const id of change.added) accepted.add(id);
    // A key that is gone already belongs to the same command.
    const gone = change.removed.filter((id) => accepted.delete(id));
    for (const id of gone) this.#options.onRemoved(id);
    this.counters.added += change.added.length;
    this.counters.removed += gone.length;
    this.counters.changed += change.changed.length;
    // Rotate even if a worker was not told of the change, because the holder of a removed key knows the AES key.
    const outcome = await this.#distribute(change);
    // A minion with a new key gets nothing that was for the former holder.
    for (const id of outcome.replaced) this.#options.onRemoved(id);
    const isRemoval = (gone.length > 0 || outcome.replaced.length > 0) && this.#options.rotatesOnRemoval;
    const isSettled = !isRemoval && this.#steadyMs() - this.#rotatedForRemovalMs < dropfileLagMsMax;
    if ((change.rotate || isRemoval) && !isSettled)
      await this.#rotate(change.rotate ? "asked for by the dropfile" : "a minion's key was removed or replaced");
    if (isRemoval) this.#rotatedForRemovalMs = this.#steadyMs();
    if (outcome.fault !== undefined) throw outcome.fault;
  }

  async #distribute({ added, removed, changed }: KeyChange): ReturnType<KeyRingOptions["distributeChange"]> {
    const { accepted, logger } = this.#options;
    if (added.length + removed.length + changed.length === 0) return { replaced: [], fault: undefined };
    const { replaced, fault } = await this.#options.distributeChange({ added, removed, changed });
    // A batch that was under way may have noted the id as accepted. A key that is back comes as a change of its own.
    for (const id of removed) accepted.delete(id);
    const counts = { added: added.length, removed: removed.length, changed: changed.length, replaced: replaced.length };
    logger.info(counts, "minion keys changed");
    return { replaced, fault };
  }

  async #rotate(reason: string): Promise<void> {
    const { secrets } = this.#options;
    this.#owed = "a rotation";
    await this.#options.exclusively(async () => {
      // Sign first: with a key in use that workers do not know, serials would start anew under the old key, and minions drop such publishes.
      const aes = generateKeyString();
      const signature = await this.#options.signMasterKey(aes);
      await secrets.rotate(Date.now(), this.#options.graceMs, aes);
      this.#dueMs = this.#steadyMs() + this.#options.sessionMs;
      this.#owed = "telling";
      await this.#options.distributeKeys({ aes: secrets.aes, signature, former: secrets.former });
    });
    this.#noteRotated(reason);
  }

  /** Tells the key again. A new one would end the former key's grace. */
  async #tell(reason: string): Promise<void> {
    const { secrets, signMasterKey, distributeKeys, exclusively } = this.#options;
    await exclusively(async () => distributeKeys(await KeyRing.presentKeys(secrets, signMasterKey)));
    this.#noteRotated(reason);
  }

  #noteRotated(reason: string): void {
    this.#owed = "nothing";
    this.counters.rotations += 1;
    this.#options.fire("key", { rotate_aes_key: true });
    this.#options.logger.info({ reason }, "rotated the AES key");
    this.#options.onRotated();
  }

  #enqueue(step: () => Promise<void>): Promise<void> {
    const turn = this.#tail.then(step);
    this.#tail = Promise.allSettled([turn]);
    return turn;
  }
}
