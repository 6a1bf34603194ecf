/** The master's secrets in a cluster: kept in its own file, and rotated for all members at once. */
import type { SharedAes } from "../../cluster/secrets/shared-aes.ts";
import { SaltworksError } from "../../errors.ts";
import type { FormerKey, FreshReason, MasterSecrets, PresentKeys } from "../../store/secrets/secrets.ts";

export class ClusterSecrets implements MasterSecrets {
  readonly #local: MasterSecrets;
  /** Undefined until the cluster has answered. */
  readonly #shared: () => SharedAes | undefined;

  constructor(local: MasterSecrets, shared: () => SharedAes | undefined) {
    this.#local = local;
    this.#shared = shared;
  }

  get aes(): string {
    return this.#local.aes;
  }
  get former(): FormerKey | undefined {
    return this.#local.former;
  }
  get createdMs(): number {
    return this.#local.createdMs;
  }
  get isFresh(): boolean {
    return this.#local.isFresh;
  }
  get freshReason(): FreshReason | undefined {
    return this.#local.freshReason;
  }

  nextSerial(): number {
    return this.#local.nextSerial();
  }

  noteSerial(serial: number): void {
    this.#local.noteSerial(serial);
  }

  /** @throws SaltworksError CLUSTER_UNAVAILABLE if too few members answer: the key stays, and the master tries again */
  async agree(nowMs: number, graceMs: number, aes: string): Promise<PresentKeys> {
    const shared = this.#shared();
    if (shared === undefined)
      throw new SaltworksError(
        "CLUSTER_UNAVAILABLE",
        "the AES key cannot be rotated before this member has joined its cluster",
      );
    const former = { key: this.#local.aes, untilMs: nowMs + graceMs };
    // The former key is this master's own, also if another member's rotation was first and this one had missed the one before.
    return { ...(await shared.rotate({ aes, former, createdMs: nowMs })), former };
  }

  adopt(keys: PresentKeys): void {
    this.#local.adopt(keys);
  }

  close(): void {
    this.#local.close();
  }
}
