/** Question: what does a cluster lose when one of three members is killed, stands still, or is cut off: ours beside Salt 3008's own, by turns? */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { SaltworksError } from "../../../src/errors.ts";
import { FaultNetwork } from "../../../test/cluster/faults/network.ts";
import { namespacesSkip } from "../../../test/cluster/faults/program.ts";
import { openResult } from "../../databases/result.ts";
import { defaultKeyDirectory, loadPrimes } from "../../fleet/keys.ts";
import { turnOrder } from "../abba.ts";
import { countOf, runProgram, saltVenv, say } from "../program.ts";
import type { Fault } from "./count.ts";
import type { Rate } from "./load.ts";
import { saltSide } from "./salt-side.ts";
import { saltworksSide } from "./saltworks-side.ts";
import type { Side } from "./side.ts";
import { spareKeysMax, type TurnResult, takeTurn } from "./turn.ts";

const usage = `usage: node dist/bench/peers/cluster/losses.js [options], as root
  --salt VENV           a virtual environment with Salt 3008; without it Salt is left out
  --rounds COUNT        turns of each cluster with each fault, default 3; another member has the fault in each
  --minions COUNT       of each cluster, default 30
  --hold SECONDS        how long a fault lasts, and how long the load goes on after it, default 8
  --every MS            between two jobs of one member, default 1500
  --targets COUNT       minions of a job, default 2
  --faults LIST         default none,busy,kill,stop,partition; busy: without a fault, a job of 10 minions every 600 ms
  --workers COUNT       worker_threads of each of our members, default 1
  --salt-workers COUNT  the same for Salt, default 2
`;

const { values } = parseArgs({
  options: {
    salt: { type: "string" },
    rounds: { type: "string", default: "3" },
    minions: { type: "string", default: "30" },
    hold: { type: "string", default: "8" },
    every: { type: "string", default: "1500" },
    targets: { type: "string", default: "2" },
    faults: { type: "string", default: "none,busy,kill,stop,partition" },
    workers: { type: "string", default: "1" },
    "salt-workers": { type: "string", default: "2" },
    inside: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

const busyRate: Rate = { jobEveryMs: 600, targets: 10 };
const allFaults: readonly Fault[] = ["none", "busy", "kill", "stop", "partition"];
const memberCount = 3;

type Turns = { readonly side: string; readonly fault: Fault; readonly rounds: TurnResult[] };

function faultsOf(text: string): Fault[] {
  return text.split(",").map((name) => {
    const fault = allFaults.find((one) => one === name);
    if (fault === undefined) throw new SaltworksError("USAGE", `--faults knows ${allFaults.join(", ")}, not ${name}`);
    return fault;
  });
}

/** Runs this program again in a network of its own, whose links end with it. */
function runInside(): void {
  const skip = namespacesSkip();
  if (skip !== false) throw new SaltworksError("USAGE", skip);
  const command = [process.execPath, "--enable-source-maps", fileURLToPath(import.meta.url), "--inside"];
  const { status } = spawnSync("unshare", ["--net", "--mount", ...command, ...process.argv.slice(2)], {
    stdio: "inherit",
  });
  process.exitCode = status ?? 1;
}

function versionOf(venv: string): string {
  const { stdout } = spawnSync(join(venv, "bin", "salt-master"), ["--version"], { encoding: "utf8" });
  return /\d[\w.]*/.exec(stdout)?.[0] ?? "unknown";
}

async function measure(sides: readonly Side[], network: FaultNetwork, faults: readonly Fault[]): Promise<Turns[]> {
  const [rounds, minions] = [countOf("--rounds", values.rounds), countOf("--minions", values.minions)];
  const calmRate: Rate = {
    jobEveryMs: countOf("--every", values.every),
    targets: countOf("--targets", values.targets),
  };
  const holdMs = countOf("--hold", values.hold) * 1_000;
  const primes = await loadPrimes(defaultKeyDirectory(), minions + spareKeysMax);
  const all = faults.flatMap((fault) => sides.map((side): Turns => ({ side: side.name, fault, rounds: [] })));
  for (const [round, order] of turnOrder(sides.length, rounds).entries()) {
    for (const fault of faults) {
      for (const side of order.flatMap((at) => sides[at] ?? [])) {
        const [victim, rate] = [round % memberCount, fault === "busy" ? busyRate : calmRate];
        const result = await takeTurn(side, { network, fault, victim, minions, holdMs, rate, primes });
        say(`${side.name}, ${fault}, member ${victim + 1}: ${JSON.stringify(result)}`);
        all.find((one) => one.side === side.name && one.fault === fault)?.rounds.push(result);
      }
    }
  }
  return all;
}

async function main(): Promise<void> {
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  const faults = faultsOf(values.faults);
  const venv = saltVenv(values.salt);
  if (!values.inside) return runInside();
  const result = openResult("peers/cluster/losses");
  const workers = countOf("--workers", values.workers);
  const saltWorkers = countOf("--salt-workers", values["salt-workers"]);
  const network = await FaultNetwork.open(memberCount);
  try {
    const sides = [saltworksSide(network, workers)];
    if (venv === undefined) say("salt: skipped, no --salt VENV given");
    else sides.push(saltSide(network, { venv, version: versionOf(venv), workers: saltWorkers }));
    const turns = await measure(sides, network, faults);
    const { rounds, minions, hold, every, targets } = values;
    const load = { minions, every, targets, busy: busyRate };
    result.print({ parameters: { rounds, hold, members: memberCount, workers, saltWorkers, ...load }, turns });
  } finally {
    network.close();
  }
}

await runProgram(main);
