/**
 * The order in which recorded commands are typed: commands that change something run before commands that show it, all others side by side. Some
 * commands of each topic run as separate processes, so that every exit code and long outputs also pass the program's start and end.
 */
import type { GoldenFleet } from "./fleet.ts";
import { keyLabConfigDir, prepareKeyLab } from "./keylab.ts";
import type { TopicPlan } from "./replay.ts";

const oneLane = (): string => "one";

/** The lane of a command that changes something: commands with the same prefix run one after the other. */
function byPrefix(name: string): string {
  if (name.startsWith("match_data") || name.startsWith("data_")) return "data";
  // These copy files that commands which list directories show.
  if (name.startsWith("cp_")) return "file";
  return /^(grains|file|schedule|sync|refresh)_/.exec(name)?.[1] ?? name;
}

/** When directories were listed, a file was there that a `salt-call` of another recording had left. */
async function leaveCopy(fleet: GoldenFleet, name: string): Promise<void> {
  const copy = ["salt://files/app.conf", "ROOT/minions/es1/scratch/app.conf"];
  if (name === "file_readdir") await fleet.run(["salt", "es1", "cp.get_file", ...copy]);
}

/** Commands that do not affect each other. */
export const commandPlans: readonly TopicPlan[] = [
  { topic: "arg_parsing", processes: /^(?:dash_arg|kwarg_on_noargs)$/ },
  { topic: "cli_options", processes: /^(?:no_args|two_target_opts|unknown_opt|nomatch|hosts|retcode_\w+|log_\w+)$/ },
  {
    topic: "outputters",
    laneOf: (name) => (name.startsWith("out_file") ? "out_file" : name),
    processes: /^(?:out_file\w*|out_progress|color_\w+)$/,
  },
  { topic: "cmd_shell_default" },
  { topic: "test_module", processes: /^multi_fail_batch$/ },
  {
    topic: "functions",
    laneOf: byPrefix,
    beforeEach: leaveCopy,
    // For `status_pid`, the minion searches the machine's processes for the command line.
    processes: /^(?:grains_items|cmd_retcode|data_dump|status_pid)$/,
  },
];

export const jobsSearch: TopicPlan = { topic: "jobs_search", laneOf: oneLane, processes: /^j5$/ };
export const jobsRunner: TopicPlan = { topic: "jobs_runner", laneOf: oneLane, processes: /^make_\w+$/ };
export const keysOfOwn: TopicPlan = {
  topic: "salt_key",
  laneOf: oneLane,
  configDir: keyLabConfigDir,
  beforeEach: prepareKeyLab,
  processes: /^(?:list_empty|list_bogus|unknown_opt)$/,
};

/** Commands that other jobs on the fleet do not affect. */
export const toolPlans: readonly TopicPlan[] = [
  { topic: "batch", processes: /^(?:b_bad|failhard)$/ },
  {
    topic: "manage_runner",
    laneOf: (name) => (name.startsWith("fs_") ? "fs" : name),
    processes: /^(?:test_stream|async|ex_retcode)$/,
  },
  { topic: "salt_call" },
  { topic: "salt_cp", laneOf: oneLane, processes: /./ },
];
