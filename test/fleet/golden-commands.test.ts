import { decisions } from "./golden-decisions.ts";
import { replayTopics } from "./golden-replay.ts";

/** Functions that change something are named after it: those follow each other. */
function byPrefix(name: string): string {
  if (name.startsWith("match_data") || name.startsWith("data_")) return "data";
  return /^(grains|file|schedule|sync|refresh)_/.exec(name)?.[1] ?? name;
}

replayTopics(
  "what commands printed on Salt's fleet is printed on ours",
  [
    [
      { topic: "arg_parsing" },
      { topic: "cli_options" },
      { topic: "outputters", laneOf: (name) => (name.startsWith("out_file") ? "out_file" : name) },
      { topic: "cmd_shell_default" },
      { topic: "test_module" },
      { topic: "functions", laneOf: byPrefix },
    ],
  ],
  decisions,
);
