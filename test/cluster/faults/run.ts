/**
 * The program that runs a cluster under faults, in namespaces of its own: `unshare --net --mount node run.js SECONDS SEED MINIONS [operator-nats]`.
 * It prints one line for each fault and ends with 0 if everything held.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { cp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { defaultKeyDirectory, loadPrimes, minionKey } from "../../../bench/fleet/keys.ts";
import { seededRandom } from "../../../bench/load/random.ts";
import { batchDirectory } from "../../../src/store/jobs/batch-log.ts";
import { pairs, tellOnStdout as tell } from "../../fault/chaos/told.ts";
import { check } from "./check.ts";
import { Disturbances } from "./disturbances.ts";
import { FaultLoad } from "./load.ts";
import { Loops } from "./loops.ts";
import { MovingMinion } from "./minions/minion.ts";
import { Serials } from "./minions/serials.ts";
import { checkOwned } from "./owned/check.ts";
import { OwnedLoad } from "./owned/load.ts";
import { type FaultMember, FaultSite } from "./site.ts";

const restMs = 2_000;
const [seconds = 60, seed = 1, minionCount = 30] = process.argv.slice(2, 5).map(Number);
const isOperatorNats = process.argv[5] === "operator-nats";

const directory = mkdtempSync(join(tmpdir(), "sw-faults-"));
process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
tell(`${seconds} s with seed ${seed}`);
const primes = await loadPrimes(defaultKeyDirectory(), minionCount);
const site = await FaultSite.open(
  { members: 3, minions: minionCount, diskMegabytes: 2_048, isOperatorNats },
  directory,
);
const random = seededRandom(seed);
const masters = site.members.map(({ master }, at) => ({
  host: site.network.addresses[at] ?? "",
  requestPort: master.requestPort,
}));
const serials = new Serials();
const minions = Array.from(
  { length: minionCount },
  (_, at) =>
    new MovingMinion(
      `min${at}`,
      minionKey(primes, at),
      { masters, first: at % masters.length, serials },
      seededRandom(seed + 1 + at),
    ),
);
const load = new FaultLoad(site, seededRandom(seed - 1));
const owned = new OwnedLoad(site, minions, seededRandom(seed - 2));
const loops = new Loops(seededRandom(seed - 3));
const disturbances = new Disturbances(site, random, tell);
try {
  for (const minion of minions) minion.start();
  await delay(restMs);
  load.start(loops);
  owned.start(loops);
  const endMs = performance.now() + seconds * 1_000;
  while (performance.now() < endMs) {
    await disturbances.next();
    await delay(random() * restMs);
  }
  disturbances.end();
  tell("the faults are over");
  await loops.stop();
  owned.allBack();
  const checks = [await check(site, load, minions), await checkOwned(site, owned, minions)];
  await Promise.all(minions.map((minion) => minion.stop()));
  const sum = (name: keyof MovingMinion["counters"]) => minions.reduce((total, one) => total + one.counters[name], 0);
  for (const figure of checks.flatMap(({ figures }) => figures)) tell(figure);
  tell(`publishes that minions read, the masters' own among them: ${serials.count}`);
  tell(`jobs published: ${load.jids.length}; refused: ${pairs(loops.refusals)}; faults: ${pairs(disturbances.counts)}`);
  tell(`minions moved ${sum("moves")} times, sent ${sum("sent")} returns, of which ${sum("refused")} were refused`);
  const found = [...disturbances.faults, ...serials.faults, ...checks.flatMap(({ faults }) => faults)];
  for (const fault of found) tell(`FAILED ${fault}`);
  if (found.length > 0) await keepEvidence(site.members);
  tell(found.length === 0 ? "held" : `${found.length} faults`);
  process.exitCode = found.length === 0 ? 0 : 1;
} finally {
  await loops.stop();
  await Promise.all(minions.map((minion) => minion.stop()));
  await site.close();
}

/** The members' logs and their logs of batch jobs, for the search of a cause. */
async function keepEvidence(members: readonly FaultMember[]): Promise<void> {
  const kept = mkdtempSync(join(tmpdir(), "sw-faults-kept-"));
  for (const { name, log, master } of members) {
    await writeFile(join(kept, `${name}.log`), log);
    const batches = batchDirectory(master.cacheDirectory);
    if (existsSync(batches)) await cp(batches, join(kept, `${name}-batches`), { recursive: true });
  }
  tell(`logs of the members: ${kept}`);
}
