/**
 * The key pair that all members share, so that a minion trusts each of them. The first member gives its own; the others take it. A master whose minions
 * trust another key does not join by itself, because they would refuse it from then on.
 */
import { createPublicKey } from "node:crypto";
import type { KV } from "@nats-io/kv";
import { SaltworksError } from "../../errors.ts";
import type { MasterKeyPair } from "../../store/keys/master-keys.ts";
import type { SecretBox } from "../../store/secrets/sealed.ts";
import { openRecord, sealRecord } from "./record.ts";

const recordName = "master_key";

type Identity = { readonly by: string; readonly privatePem: string; readonly publicPem: string };

export type IdentityOptions = {
  readonly bucket: KV;
  readonly box: SecretBox;
  readonly member: string;
  /** The master's present key pair; undefined if it has none yet. */
  readonly present: () => MasterKeyPair | undefined;
  readonly make: () => MasterKeyPair;
  /** Rejects if the cluster has a key pair, although it is not recorded. It is tried again then. */
  readonly mayGive?: () => Promise<void>;
  /** Whether minions trust the present key. */
  readonly isTrusted: () => boolean;
  /** Makes the cluster's key pair this master's. */
  readonly take: (keys: MasterKeyPair) => void;
};

/**
 * Whether the cluster's key pair opens with this member's secret.
 *
 * @returns undefined if it is not recorded
 * @throws SaltworksError CLUSTER_REFUSED for another secret; what NATS throws
 */
export async function openIdentity(
  bucket: Pick<KV, "get">,
  box: SecretBox,
): Promise<{ readonly by: string } | undefined> {
  const found = await bucket.get(recordName);
  return found?.operation === "PUT" ? openRecord<Identity>(box, recordName, found.value) : undefined;
}

export type IdentityOutcome = { readonly state: "given" | "same" | "taken"; readonly by: string };

/** @throws SaltworksError CLUSTER_REFUSED if minions trust another key of this master; what NATS throws, after which it is tried again */
export async function shareIdentity(options: IdentityOptions): Promise<IdentityOutcome> {
  const found = await options.bucket.get(recordName);
  if (found !== null && found.operation === "PUT") return adopt(options, found.value);
  await options.mayGive?.();
  const own = options.present() ?? options.make();
  const record = sealRecord(options.box, recordName, { by: options.member, ...own });
  // If another member is first, this fails, and the next try finds that member's.
  await options.bucket.create(recordName, record);
  return { state: "given", by: options.member };
}

function adopt(options: IdentityOptions, sealed: Uint8Array): IdentityOutcome {
  const identity = openRecord<Identity>(options.box, recordName, sealed);
  const { by, privatePem, publicPem } = identity;
  const present = options.present();
  if (present !== undefined && isSame(present.privatePem, privatePem)) return { state: "same", by };
  if (present !== undefined && options.isTrusted()) {
    throw new SaltworksError(
      "CLUSTER_REFUSED",
      `this master's minions trust its own key, and the cluster has that of ${by}. To take the cluster's key, move master.pem and master.pub ` +
        "out of pki_dir; the minions of this master then need the file minion_master.pub removed",
    );
  }
  options.take({ privatePem, publicPem });
  return { state: "taken", by };
}

/** Whatever the form of their texts. */
function isSame(one: string, other: string): boolean {
  return createPublicKey(one).equals(createPublicKey(other));
}
