/**
 * The keys of a cluster, derived by every member from the option `cluster_secret`, so that none is ever sent.
 * Sources: RFC 7914 (scrypt), RFC 5869 (HKDF).
 */
import { hkdfSync, randomBytes, scrypt } from "node:crypto";
import { SaltworksError } from "../errors.ts";

/** Of 32 bytes each. */
export type ClusterKeys = {
  /** Of the authority that signs the members' certificates. */
  readonly authoritySeed: Buffer;
  /** Of the user that each member is to its own NATS server. */
  readonly clientSeed: Buffer;
  /** Of the user that a member is when it asks the servers for their state or removes one. */
  readonly systemSeed: Buffer;
  /** Seals what the members share through NATS, such as the cluster's key pair. */
  readonly sealKey: Buffer;
  /** From which the minions' session keys are derived. */
  readonly sessionKey: Buffer;
};

const keyBytes = 32;
/** Characters of a `cluster_secret`. Shorter ones can be guessed, however slow a guess is. */
const secretCharactersMin = 16;
/**
 * What a guess costs: 64 MiB of memory (128 · cost · blockSize bytes) and about 0.2 s of a core. A start of a member pays it once. All members
 * must have the same numbers, so a change needs a new purpose below and a way for old and new members to meet.
 */
const scryptCost = { cost: 2 ** 16, blockSize: 8, parallelization: 1, maxmem: 2 * 128 * 2 ** 16 * 8 } as const;

/**
 * Each key from its own purpose: who learns one does not learn another. `clusterId` is the salt: two clusters with one secret share no key, and a
 * table of guesses serves for one cluster only.
 *
 * @throws SaltworksError CONFIG_INVALID for a secret of fewer than `secretCharactersMin` characters
 */
export async function deriveKeys(clusterSecret: string, clusterId: string): Promise<ClusterKeys> {
  const count = [...clusterSecret].length;
  if (count < secretCharactersMin) {
    throw new SaltworksError(
      "CONFIG_INVALID",
      `cluster_secret: it has ${count} characters, and needs at least ${secretCharactersMin}. ` +
        "The command `saltworks cluster secret` makes one; all members of the cluster have the same.",
    );
  }
  const root = await slowHash(clusterSecret, `saltworks cluster ${clusterId}`);
  const keyFor = (purpose: string) =>
    Buffer.from(hkdfSync("sha256", root, clusterId, `saltworks cluster ${purpose} 1`, keyBytes));
  return {
    authoritySeed: keyFor("authority"),
    clientSeed: keyFor("client"),
    systemSeed: keyFor("system"),
    sealKey: keyFor("seal"),
    sessionKey: keyFor("session"),
  };
}

function slowHash(secret: string, salt: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(secret, salt, keyBytes, scryptCost, (error, hash) => (error === null ? resolve(hash) : reject(error)));
  });
}

/** A secret that cannot be guessed: 43 letters, digits, `-` and `_`. */
export function newClusterSecret(): string {
  return randomBytes(keyBytes).toString("base64url");
}
