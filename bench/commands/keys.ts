/** `saltworks bench keys DIR --minions N`: writes keys of simulated minions, which an operator gives to a master before a run. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Host } from "../../src/cli/host/host.ts";
import type { Progress } from "../../src/cli/host/progress.ts";
import type { OptionsOf } from "../../src/cli/options/parse.ts";
import { SaltworksError } from "../../src/errors.ts";
import { loadPrimes, minionKey } from "../fleet/keys.ts";
import { idPrefixDefault } from "../fleet/members.ts";
import { inRange } from "./run-request.ts";

const minionsDefault = 1_000;
const minionsMost = 100_000;

/** @returns the exit code @throws SaltworksError USAGE */
export async function writeKeys(
  words: readonly string[],
  options: Pick<OptionsOf<"bench">, "minions">,
  progress: Progress,
  host: Host,
): Promise<number> {
  const [directory, ...rest] = words;
  if (directory === undefined || rest.length > 0) {
    throw new SaltworksError("USAGE", "which directory? saltworks bench keys DIR --minions N");
  }
  const count = inRange("--minions", options.minions, 1, minionsMost) ?? minionsDefault;
  const primes = await loadPrimes(directory, count);
  const publicKeys = join(directory, "minions");
  mkdirSync(publicKeys, { recursive: true });
  const phase = progress.phase("write public keys", count);
  for (let index = 0; index < count; index += 1) {
    // As a master stores an accepted key: without a newline at its end.
    writeFileSync(join(publicKeys, `${idPrefixDefault}${index}`), minionKey(primes, index).publicPem);
    phase.step();
  }
  phase.end();
  host.write(
    `${count} public keys are in ${publicKeys}. Copy them to the directory 'minions' in the master's pki_dir, then:\n` +
      `  saltworks bench SCENARIO --minions ${count} --master HOST --keys ${directory}\n` +
      "They are for load only: two of them may share a prime, so that others could find them. Delete them after the run.\n",
  );
  return 0;
}
