/**
 * Shares the AES key and the key pair with the other members: gives what is not recorded yet, takes the cluster's AES key, and follows it. If the records
 * vanish while members run, these give them again as they are, so that no member starts the cluster anew with other keys unseen.
 */
import type { KV } from "@nats-io/kv";
import type { Logger } from "pino";
import { shareIdentity } from "../../cluster/secrets/identity.ts";
import { SharedAes } from "../../cluster/secrets/shared-aes.ts";
import { hasCode } from "../../errors.ts";
import { clusterAttachRetryMs, clusterSecretsLostMs } from "../../limits.ts";
import type { MasterKeyPair } from "../../store/keys/master-keys.ts";
import type { SecretBox } from "../../store/secrets/sealed.ts";
import type { MasterSecrets } from "../../store/secrets/secrets.ts";
import type { KeyManagement } from "../upkeep/key-management.ts";

export type SecretSharingOptions = {
  readonly member: string;
  readonly box: SecretBox;
  readonly logger: Pick<Logger, "error">;
  /** Opens the bucket; makes it if there is none. */
  readonly openBucket: () => Promise<KV>;
  /** Tries until the cluster answers. Rejects with CLUSTER_UNAVAILABLE when the master ends. */
  readonly untilAnswered: <Result>(what: string, attempt: () => Promise<Result>) => Promise<Result>;
  readonly keyPair: () => MasterKeyPair;
  readonly secrets: MasterSecrets;
  readonly keyManagement: Pick<KeyManagement, "follow">;
  /** Between two looks at the bucket. Tests use less. */
  readonly lookMs?: number;
};

export class SecretSharing {
  readonly counters = { lost: 0 };
  readonly #options: SecretSharingOptions;
  #shared: SharedAes | undefined;
  #restoring: Promise<void> = Promise.resolve();
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: SecretSharingOptions) {
    this.#options = options;
  }

  /** The cluster's AES key; undefined until the cluster has answered, and while its record is lost. */
  get shared(): SharedAes | undefined {
    return this.#shared;
  }

  /**
   * @param hasJoined this member was in the cluster before. If the AES key is not recorded, the others get time to give theirs
   * @throws SaltworksError CLUSTER_REFUSED if the cluster has another key pair; CLUSTER_UNAVAILABLE at the end of the master
   */
  async start(hasJoined: boolean): Promise<void> {
    await this.#share(hasJoined ? performance.now() + clusterSecretsLostMs : 0);
    if (hasJoined && this.#shared?.isGiven === true)
      this.#options.logger.error("the cluster's AES key was not recorded any more: this member has given its own");
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#shared?.close();
    await this.#restoring;
  }

  async #share(giveFromMs: number): Promise<void> {
    const { member, box, logger, secrets, keyManagement, openBucket, untilAnswered, lookMs } = this.#options;
    const own = { aes: secrets.aes, former: secrets.former, createdMs: secrets.createdMs };
    const onFault = (err: Error) => logger.error({ err }, "the cluster's AES key cannot be read");
    const onLost = () => this.#noteLoss();
    const options = { ...{ box, member, onFault, onLost, giveFromMs }, ...(lookMs && { lookMs }) };
    // The bucket may vanish again meanwhile, and with it what was given already.
    const shared = await untilAnswered("the cluster's bucket of secrets", async () => {
      const bucket = await openBucket();
      await this.#giveKeyPair(bucket);
      return await SharedAes.open({ ...options, bucket }, own);
    });
    this.#shared = shared;
    if (shared.keys.aes !== secrets.aes) await keyManagement.follow(shared.keys);
    await shared.follow((keys) => {
      keyManagement
        .follow(keys)
        .catch((err: Error) => logger.error({ err }, "the cluster's new AES key is not in use"));
    });
    if (this.#isClosed) shared.close();
  }

  /** A member has the cluster's key pair since it joined. If it is not recorded any more, one of the members gives it again. */
  async #giveKeyPair(bucket: KV): Promise<void> {
    const { member, box, keyPair } = this.#options;
    const present = keyPair;
    await shareIdentity({ bucket, box, member, present, make: keyPair, isTrusted: () => true, take: () => undefined });
  }

  #noteLoss(): void {
    this.counters.lost += 1;
    const { logger, secrets } = this.#options;
    logger.error("the cluster's secrets have vanished from NATS: this member gives them again, as it has them");
    this.#restore(secrets.aes);
  }

  /** @param before the AES key at the time of the loss */
  #restore(before: string): void {
    this.#shared = undefined;
    const { logger, secrets } = this.#options;
    this.#restoring = this.#share(0)
      .then(() => {
        if (secrets.aes !== before)
          logger.error("the cluster's secrets were made anew with another AES key: this member follows it");
      })
      .catch((err: unknown) => {
        if (this.#isClosed) return;
        logger.error({ err }, "the cluster's secrets are not restored");
        if (hasCode(err, "CLUSTER_REFUSED")) return;
        this.#retry = setTimeout(() => this.#restore(before), clusterAttachRetryMs);
      });
  }
}
