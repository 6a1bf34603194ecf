/** Parses the options of `saltworks bench` about several masters: members of a cluster, and peers that are loaded by turns. */
import type { Host } from "../../src/cli/host/host.ts";
import type { OptionsOf } from "../../src/cli/options/parse.ts";
import { SaltworksError } from "../../src/errors.ts";
import type { ParameterValues } from "../results/schema.ts";
import type { Scenario } from "../scenarios/scenario.ts";
import type { MasterChoice } from "../scenarios/setup/master-under-test.ts";

type PeerOptions = Partial<Pick<OptionsOf<"bench">, "against" | "members" | "salt">>;

/** The C program serves only loads of returns. */
const floorScenarios = ["return-storm", "light-load"];
/** Scenarios whose load goes to all members. */
const memberScenarios = ["return-storm", "light-load", "ping-all"];
const membersRange = { min: 3, max: 5 };
/** This scenario drives the store alone, without the master. */
const masterlessScenario = "job-cache";

/** @throws SaltworksError USAGE for a number out of range, a scenario for one master, and a peer of another kind */
export function readMembers({ name }: Scenario<ParameterValues>, options: PeerOptions): number | undefined {
  const { against, members } = options;
  if (members === undefined) {
    if (against !== "alone") return undefined;
    throw new SaltworksError("USAGE", "--against alone compares a cluster with one master: give --members, too");
  }
  if (members < membersRange.min || members > membersRange.max) {
    const range = `from ${membersRange.min} to ${membersRange.max}`;
    throw new SaltworksError("USAGE", `--members takes a number ${range}, not ${members}`);
  }
  if (!memberScenarios.includes(name)) {
    throw new SaltworksError("USAGE", `${name} drives one master: --members goes with ${memberScenarios.join(", ")}`);
  }
  if (against === "salt" || against === "floor") {
    throw new SaltworksError("USAGE", `--members is about our masters: it goes with --against alone, not ${against}`);
  }
  return members;
}

/** @throws SaltworksError USAGE */
export function readPeers(
  scenario: Scenario<ParameterValues>,
  options: PeerOptions,
  host: Host,
  ours: Pick<MasterChoice, "workers" | "config">,
): MasterChoice[] {
  const { against } = options;
  const workers = ours.workers === undefined ? {} : { workers: ours.workers };
  if (against !== "salt" && options.salt !== undefined)
    throw new SaltworksError("USAGE", "--salt means something with --against salt only");
  if (against === undefined) return [];
  if (scenario.name === masterlessScenario) {
    throw new SaltworksError("USAGE", `${masterlessScenario} asks no master, so there is nothing to run it against`);
  }
  if (against === "alone") return [{ kind: "saltworks", ...workers, config: ours.config ?? {} }];
  if (against === "floor") {
    if (floorScenarios.includes(scenario.name)) return [{ kind: "floor" }];
    throw new SaltworksError(
      "USAGE",
      `the floor answers returns and nothing else: --against floor goes with ${floorScenarios.join(" and ")}`,
    );
  }
  const byDefault = host.environment.SALTWORKS_SALT_VENV;
  const venvs = options.salt ?? (byDefault === undefined ? [] : [byDefault]);
  if (venvs.length === 0) {
    throw new SaltworksError(
      "USAGE",
      "--against salt needs --salt VENV, the virtual environment that Salt is installed in",
    );
  }
  return venvs.map((salt) => ({ kind: "salt", salt, ...workers }));
}
