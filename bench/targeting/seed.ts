/** Fills a master's directories with a synthetic fleet: accepted keys and the minions' grains and pillars. */
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SaltworksError } from "../../src/errors.ts";
import { openMinionData } from "../../src/store/minions/data.ts";
import { encode } from "../../src/wire/msgpack.ts";
import { Packed } from "../../src/wire/values.ts";
import type { Phase } from "../scenarios/scenario.ts";
import type { MasterUnderTest } from "../scenarios/setup/master-contract.ts";
import { syntheticFacts, syntheticId } from "./synthetic-fleet.ts";

/** Puts that wait for one commit. */
const putsTogether = 2_000;

export async function seedMinionData(cacheDirectory: string, minions: number, phase?: Phase): Promise<void> {
  const data = openMinionData({ path: join(cacheDirectory, "minions.lmdb") });
  for (let first = 0; first < minions; first += putsTogether) {
    const numbers = Array.from({ length: Math.min(putsTogether, minions - first) }, (_, at) => first + at);
    await Promise.all(
      numbers.map((number) => {
        const { grains, pillar } = syntheticFacts(number);
        return data.putGrains(syntheticId(number), grains, pillar);
      }),
    );
    phase?.step(numbers.length);
  }
  await data.close();
}

/** Writes minion data as Salt keeps it: a file per minion. */
function seedSaltData(cacheDirectory: string, minions: number, phase: Phase): void {
  for (let number = 0; number < minions; number += 1) {
    const directory = join(cacheDirectory, "minions", syntheticId(number));
    mkdirSync(directory, { recursive: true });
    const { grains, pillar } = syntheticFacts(number);
    writeFileSync(join(directory, "data.p"), encode({ grains: new Packed(grains), pillar: new Packed(pillar) }, "bin"));
    phase.step();
  }
}

/** One key serves all minions, because none of them signs in. All files appear at once, so that the master's key watch sees one change. */
function seedKeys(pkiDirectory: string, minions: number): void {
  const directory = join(pkiDirectory, "minions");
  const unseen = `${directory}.new`;
  mkdirSync(unseen, { recursive: true });
  const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const pem = publicKey.export({ type: "spki", format: "pem" });
  for (let number = 0; number < minions; number += 1) writeFileSync(join(unseen, syntheticId(number)), pem);
  rmSync(directory, { recursive: true, force: true });
  renameSync(unseen, directory);
}

/** The master finds them after a restart. */
export async function seedFleet(master: MasterUnderTest, minions: number, phase: Phase): Promise<void> {
  const { pkiDirectory } = master;
  if (pkiDirectory === undefined) throw new SaltworksError("USAGE", `${master.kind} knows no minions to target`);
  if (master.kind === "saltworks") await seedMinionData(master.cacheDirectory, minions, phase);
  else seedSaltData(master.cacheDirectory, minions, phase);
  seedKeys(pkiDirectory, minions);
}
