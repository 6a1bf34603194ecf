/**
 * Follows the key directories, which any program may change, keeps the set of accepted minions, and rotates the master's AES key. When a minion's key
 * is removed, publishes get a new AES key at once. One command causes one rotation.
 */
import type { Logger } from "pino";
import { generateKeyString } from "../../crypto/crypticle.ts";
import type { KeyChange, KeyWatch } from "../../store/keys/keys.ts";
import type { MasterSecrets, PresentKeys } from "../../store/secrets/secrets.ts";
import type { MasterKeys } from "../../workers/messages/worker.ts";
import { bootMs } from "./clock-step.ts";

/** Salt's tools write the dropfile after they have removed the last key. A dropfile within this time after a removal belongs to the same command. */
const dropfileLagMsMax = 5_000;

export type KeyManagementOptions = {
  readonly secrets: MasterSecrets;
  readonly accepted: Set<string>;
  readonly graceMs: number;
  readonly rotatesOnRemoval: boolean;
  /** A monotonic clock. */
  readonly steadyMs?: () => number;
  readonly sessionMs: number;
  readonly logger: Logger;
  /** X9.31 signature of an AES key by the master's key. */
  readonly signMasterKey: (aes: string) => Promise<Uint8Array>;
  readonly distributeKeys: (keys: MasterKeys) => Promise<void>;
  /** @returns `replaced`: ids whose file holds another key than their worker used. `fault`: why a worker did not answer */
  readonly distributeChange: (change: {
    added: string[];
    removed: string[];
    changed: string[];
  }) => Promise<{ readonly replaced: readonly string[]; readonly fault: unknown }>;
  /** Called when the id's key was removed or replaced. */
  readonly onRemoved: (id: string) => void;
  readonly fire: (tag: string, data: { readonly [key: string]: boolean }) => void;
  /** Runs `step` while no publish is between its serial and the socket, because key and serial change together. */
  readonly exclusively: (step: () => Promise<void>) => Promise<void>;
  readonly onRotated: () => void;
};

export class KeyManagement {
  readonly counters = { rotations: 0, added: 0, removed: 0, changed: 0 };
  readonly #options: KeyManagementOptions;
  readonly #steadyMs: () => number;
  /** When the next rotation is due, by `#steadyMs`. */
  #dueMs: number;
  #rotatedForRemovalMs = Number.NEGATIVE_INFINITY;
  /** The part of a failed rotation that is still to be done: all of it, or only telling every worker the key in use. */
  #owed: "nothing" | "a rotation" | "telling" = "nothing";
  #watch: Pick<KeyWatch, "noteServed" | "lookForNew"> | undefined;
  #onAccepted: (ids: readonly string[]) => void = () => undefined;
  /** Changes and rotations run one after the other. */
  #tail: Promise<unknown> = Promise.resolve();
  /** The last addition of keys that some worker does not know yet. Earlier additions settle before it. */
  #addition: Promise<unknown> | undefined;

  constructor(options: KeyManagementOptions) {
    this.#options = options;
    this.#steadyMs = options.steadyMs ?? bootMs;
    // A creation time in the future means that the clock was set back.
    const ageMs = Math.min(Math.max(0, Date.now() - options.secrets.createdMs), options.sessionMs);
    this.#dueMs = this.#steadyMs() + options.sessionMs - ageMs;
  }

  /** The AES keys in use and the signature, with which workers start. */
  static async presentKeys(
    secrets: MasterSecrets,
    signMasterKey: (aes: string) => Promise<Uint8Array>,
  ): Promise<MasterKeys> {
    return { aes: secrets.aes, signature: await signMasterKey(secrets.aes), former: secrets.former };
  }

  /** From now on ids that workers accept themselves are reported to the directory watch. */
  useWatch(watch: Pick<KeyWatch, "noteServed" | "lookForNew">): void {
    this.#watch = watch;
  }

  /** Notes ids that a worker accepted itself. That worker owns them; the other workers learn of them from the directory watch. */
  noteAccepted(ids: readonly string[]): void {
    for (const id of ids) this.#options.accepted.add(id);
    // The key file may have been removed or replaced meanwhile, without another event of the directory.
    this.#watch?.noteServed(ids);
    this.#onAccepted(ids);
  }

  /** From now on `listener` is told of ids that a worker accepted itself. */
  onAccepted(listener: (ids: readonly string[]) => void): void {
    this.#onAccepted = listener;
  }

  /** Looks for keys that other programs have put into the directory. Settles when every worker knows them; undefined if they know them already. */
  lookForNew(): Promise<unknown> | undefined {
    this.#watch?.lookForNew();
    return this.#addition;
  }

  /** Applies a change from the directory watch. Settles when every worker knows it and, if a key was removed, the rotation is done. */
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

  /** Rotates if `publish_session` is over by a monotonic clock. Completes a rotation that failed. */
  rotateIfDue(): Promise<void> {
    return this.#enqueue(async () => {
      if (this.#owed === "telling") await this.#tell("not every worker got the key of the last rotation");
      else if (this.#owed === "a rotation") await this.#rotate("the last rotation failed");
      else if (this.#steadyMs() > this.#dueMs) await this.#rotate("publish_session is over");
    });
  }

  /** Uses keys that another member of the cluster made. Settles when every worker has them. */
  follow(keys: PresentKeys): Promise<void> {
    return this.#enqueue(async () => {
      const { secrets, graceMs, signMasterKey, distributeKeys, exclusively } = this.#options;
      if (keys.aes === secrets.aes) return;
      await exclusively(async () => {
        const signature = await signMasterKey(keys.aes);
        // By this master's clock and key: its minions have that one, also if it is not the cluster's former one.
        secrets.adopt({ ...keys, former: { key: secrets.aes, untilMs: Date.now() + graceMs } });
        this.#dueMs = this.#steadyMs() + this.#options.sessionMs;
        this.#owed = "telling";
        await distributeKeys({ aes: secrets.aes, signature, former: secrets.former });
      });
      this.#noteRotated("another member rotated it");
    });
  }

  async #apply(change: KeyChange): Promise<void> {
    const { accepted } = this.#options;
    for (const id of change.added) accepted.add(id);
    // An id that was removed before belongs to an earlier change of the same command.
    const gone = change.removed.filter((id) => accepted.delete(id));
    for (const id of gone) this.#options.onRemoved(id);
    this.counters.added += change.added.length;
    this.counters.removed += gone.length;
    this.counters.changed += change.changed.length;
    // Rotates even if a worker was not told of the change, because the holder of a removed key knows the AES key.
    const outcome = await this.#distribute(change);
    // A minion with a new key gets nothing that was meant for the holder of the old one.
    for (const id of outcome.replaced) this.#options.onRemoved(id);
    const isRemoval = (gone.length > 0 || outcome.replaced.length > 0) && this.#options.rotatesOnRemoval;
    const isSettled = !isRemoval && this.#steadyMs() - this.#rotatedForRemovalMs < dropfileLagMsMax;
    if ((change.rotate || isRemoval) && !isSettled)
      await this.#rotate(change.rotate ? "asked for by the dropfile" : "a minion's key was removed or replaced");
    if (isRemoval) this.#rotatedForRemovalMs = this.#steadyMs();
    if (outcome.fault !== undefined) throw outcome.fault;
  }

  async #distribute({ added, removed, changed }: KeyChange): ReturnType<KeyManagementOptions["distributeChange"]> {
    const { accepted, logger } = this.#options;
    if (added.length + removed.length + changed.length === 0) return { replaced: [], fault: undefined };
    const { replaced, fault } = await this.#options.distributeChange({ added, removed, changed });
    // A batch that was under way may have noted the id as accepted. A restored key is a separate change.
    for (const id of removed) accepted.delete(id);
    const counts = { added: added.length, removed: removed.length, changed: changed.length, replaced: replaced.length };
    logger.info(counts, "minion keys changed");
    return { replaced, fault };
  }

  async #rotate(reason: string): Promise<void> {
    const { secrets } = this.#options;
    this.#owed = "a rotation";
    const { exclusively, signMasterKey, distributeKeys } = this.#options;
    // Signs first. If signing failed with the new key in use, serials would start anew under the old key, which workers
    // still use, and minions drop such publishes.
    const aes = generateKeyString();
    let signature = await signMasterKey(aes);
    // Publishes go on under the old key meanwhile: in a cluster without a majority it takes seconds, and fails.
    const agreed = await secrets.agree(Date.now(), this.#options.graceMs, aes);
    // In a cluster another member's rotation may have been first.
    if (agreed.aes !== aes) signature = await signMasterKey(agreed.aes);
    await exclusively(async () => {
      secrets.adopt(agreed);
      this.#dueMs = this.#steadyMs() + this.#options.sessionMs;
      this.#owed = "telling";
      await distributeKeys({ aes: secrets.aes, signature, former: secrets.former });
    });
    this.#noteRotated(reason);
  }

  /** Tells the workers the key in use again. Another rotation would end the old key's grace period. */
  async #tell(reason: string): Promise<void> {
    const { secrets, signMasterKey, distributeKeys, exclusively } = this.#options;
    await exclusively(async () => distributeKeys(await KeyManagement.presentKeys(secrets, signMasterKey)));
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
