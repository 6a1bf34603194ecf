/** Every scenario, in the order in which they are listed. */
import { SaltworksError } from "../../src/errors.ts";
import type { ParameterValues } from "../results/schema.ts";
import { authBesideReturns } from "./auth-beside-returns.ts";
import { authStorm } from "./auth-storm.ts";
import { highstate } from "./content/highstate.ts";
import { pillars } from "./content/pillars.ts";
import { growth } from "./growth.ts";
import { idleHold } from "./idle-hold.ts";
import { jobCache } from "./job-cache.ts";
import { keyRotation } from "./key-rotation.ts";
import { mineRead } from "./mine-read.ts";
import { mixedDay } from "./mixed-day.ts";
import { pingAll } from "./ping-all.ts";
import { reactions } from "./reactor/reactions.ts";
import { restartUnderLoad } from "./restart-under-load.ts";
import { lightLoad, returnStorm } from "./return-storm.ts";
import type { Scenario } from "./scenario.ts";
import { slowPillar } from "./slow-pillar.ts";
import { slowSubscriber } from "./slow-subscriber.ts";
import { targeting } from "./targeting.ts";

export const scenarios: readonly Scenario<ParameterValues>[] = [
  idleHold,
  pingAll,
  returnStorm,
  lightLoad,
  authStorm,
  authBesideReturns,
  restartUnderLoad,
  keyRotation,
  slowPillar,
  pillars,
  reactions,
  slowSubscriber,
  mineRead,
  mixedDay,
  highstate,
  jobCache,
  targeting,
  growth,
];

/** @throws SaltworksError USAGE with the names that exist */
export function scenarioNamed(name: string): Scenario<ParameterValues> {
  const found = scenarios.find((scenario) => scenario.name === name);
  if (found !== undefined) return found;
  const names = scenarios.map((scenario) => scenario.name).join(", ");
  throw new SaltworksError("USAGE", `no scenario ${name}; there are ${names}`, { name });
}
