/** In which order recorded commands are typed: what changes something goes before what shows it, everything else side by side. */
import type { GoldenFleet } from "./fleet.ts";
import { keyLabConfigDir, prepareKeyLab } from "./keylab.ts";
import type { TopicPlan } from "./replay.ts";

const oneLane = (): string => "one";

/** Functions that change something are named after it: those follow each other. */
function byPrefix(name: string): string {
  if (name.startsWith("match_data") || name.startsWith("data_")) return "data";
  // Commands that list directories see what these copy.
  if (name.startsWith("cp_")) return "file";
  return /^(grains|file|schedule|sync|refresh)_/.exec(name)?.[1] ?? name;
}

/** When directories were listed, a `salt-call` that is recorded elsewhere had left a file there. */
async function leaveCopy(fleet: GoldenFleet, name: string): Promise<void> {
  const copy = ["salt://files/app.conf", "ROOT/minions/es1/scratch/app.conf"];
  if (name === "file_readdir") await fleet.run(["salt", "es1", "cp.get_file", ...copy]);
}

/** Commands that do not mind each other. */
export const commandPlans: readonly TopicPlan[] = [
  { topic: "arg_parsing" },
  { topic: "cli_options" },
  { topic: "outputters", laneOf: (name) => (name.startsWith("out_file") ? "out_file" : name) },
  { topic: "cmd_shell_default" },
  { topic: "test_module" },
  { topic: "functions", laneOf: byPrefix, beforeEach: leaveCopy },
];

export const jobsSearch: TopicPlan = { topic: "jobs_search", laneOf: oneLane };
export const jobsRunner: TopicPlan = { topic: "jobs_runner", laneOf: oneLane };
export const keysOfOwn: TopicPlan = {
  topic: "salt_key",
  laneOf: oneLane,
  configDir: keyLabConfigDir,
  beforeEach: prepareKeyLab,
};

/** Commands on a fleet in which jobs of others may run. */
export const toolPlans: readonly TopicPlan[] = [
  { topic: "batch" },
  { topic: "manage_runner", laneOf: (name) => (name.startsWith("fs_") ? "fs" : name) },
  { topic: "salt_call" },
  { topic: "salt_cp", laneOf: oneLane },
];
