/** Reads all stored data of a master, running or not, and reports damage. Changes nothing. Source: docs/decisions/0024-damaged-stores.md. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { withSystemReason } from "../config/files/system-errors.ts";
import type { MasterConfig } from "../config/load.ts";
import { hasCode } from "../errors.ts";
import { walkedFaultsMax } from "../limits.ts";
import { checkBatches, checkKeys, checkTokens } from "../store/check/file-checks.ts";
import { checkMinionData, checkMirrorQueue, checkPendingJobs } from "../store/check/lmdb-checks.ts";
import { checkSaltJobs, checkSaltMinions, leaveRest } from "../store/check/salt-checks.ts";
import { type Check, Tally } from "../store/check/tally.ts";
import { instanceOwner } from "../store/disk/instance-lock.ts";
import type { DriverCheck } from "../store/drivers/contract/driver.ts";
import { driverOf, driversCacheNames } from "../store/drivers/registry.ts";
import { readMasterKey } from "../store/keys/master-keys.ts";
import { saltKinds } from "../store/salt/minion-files.ts";
import { openSecretBox, type SecretBox } from "../store/secrets/sealed.ts";
import { readSecrets } from "../store/secrets/secrets.ts";

/** `records`: the number that was read. `faults`: the first few of `faultCount`. `unreadable`: why the part could not be read at all. */
export type StorePart = {
  readonly what: string;
  readonly place: string;
  readonly records: number;
  readonly faults: readonly string[];
  readonly faultCount: number;
  readonly unreadable?: string;
  /** The first few files and directories at `place` that the master does not read. */
  readonly leftAlone: readonly string[];
  readonly leftAloneCount: number;
};
export type OnProgress = (place: string, share: number) => void;

/** Yields each part as soon as it has been read. */
export async function* checkStore(config: MasterConfig, onProgress: OnProgress): AsyncGenerator<StorePart> {
  const { cachedir, pki_dir: pkiDir } = config;
  let box: SecretBox | undefined;
  const jobChecks = driverOf(config).checks(config);
  const checks: readonly (readonly [what: string, place: string, check: Check | DriverCheck["check"]])[] = [
    ["keys", pkiDir, (tally) => checkKeys(pkiDir, tally)],
    [
      "sealed secrets",
      join(pkiDir, ".secrets.sealed"),
      (tally) => {
        box = openBox(config, tally);
      },
    ],
    ...jobChecks.map(({ what, place, check }) => [what, place, check] as const),
    ["minions' data", join(cachedir, "minions.lmdb"), (tally, look) => checkMinionData(tally, look, box)],
    ["pending jobs", join(cachedir, "pending-jobs.lmdb"), checkPendingJobs],
    ["pending writes to Salt's files", join(cachedir, "salt-files.lmdb"), checkMirrorQueue],
    ["batches", join(cachedir, "batches"), checkBatches],
    ["tokens", join(cachedir, "tokens"), checkTokens],
    [
      "jobs in Salt's files",
      join(cachedir, "jobs"),
      (tally, look) => checkSaltJobs(tally, look, cachedir, config.hash_type),
    ],
    ["minions' data in Salt's files", cachedir, checkSaltMinions],
    ["other files", cachedir, (tally) => leaveRest(tally, cachedir, knownNames)],
  ];
  for (const [what, place, check] of checks) {
    const tally = new Tally(walkedFaultsMax);
    const so = () => ({ what, place, ...toldOf(tally) });
    onProgress(place, 0);
    try {
      await check(tally, { path: place, isRunning: instanceOwner(cachedir) !== undefined, onProgress });
      yield so();
    } catch (error) {
      yield { ...so(), unreadable: error instanceof Error ? withSystemReason(error) : String(error) };
    }
  }
}

/** Names in the cache directory that a check reads, or that hold no data. */
const knownNames: ReadonlySet<string> = new Set([
  ...driversCacheNames,
  ...["minions.lmdb", "pending-jobs.lmdb", "salt-files.lmdb", "batches", "tokens"],
  ...["jobs", "minions", ...saltKinds],
  ...[".saltworks.lock", ".saltworks-minions-seen", ".saltworks-minions-read", ".saltworks-jobs-seen"],
]);

function toldOf({ records, faults, faultCount, leftAlone, leftAloneCount }: Tally) {
  return { records, faults, faultCount, leftAlone, leftAloneCount };
}

function masterKey({ pki_dir: pkiDir, key_pass: passphrase }: MasterConfig, tally: Tally): string | undefined {
  try {
    return readMasterKey(pkiDir, passphrase ?? undefined);
  } catch (error) {
    if (!hasCode(error, "CRYPTO_BAD_KEY")) throw error;
    tally.fault(`${join(pkiDir, "master.pem")} is not a private key, or key_pass does not decrypt it`);
    return undefined;
  }
}

/** The box that the master's key opens. Undefined if there is no key yet or the key is damaged. */
function openBox(config: MasterConfig, tally: Tally): SecretBox | undefined {
  const saltFile = join(config.pki_dir, ".seal-salt");
  const file = join(config.pki_dir, ".secrets.sealed");
  const privatePem = masterKey(config, tally);
  if (privatePem === undefined) return undefined;
  if (!existsSync(saltFile)) {
    if (existsSync(file)) tally.fault(`${saltFile} is missing: sealed data cannot be opened any more`);
    return undefined;
  }
  const box = openSecretBox(privatePem, saltFile);
  if (!existsSync(file)) return box;
  tally.records += 1;
  try {
    readSecrets(file, box);
  } catch (error) {
    if (!hasCode(error, "STORE_SEAL_BROKEN")) throw error;
    tally.fault(`${file} does not open under this master's key: minions will authenticate again`);
  }
  return box;
}
