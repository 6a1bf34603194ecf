/** The options of `saltworks top`, a command that Salt does not have. */

import { generalOptions } from "./general-options.ts";
import { type CommandTable, flag, int } from "./option.ts";

const viewOptions = {
  intervalSeconds: int(["-n", "--interval"], "SECONDS", "Seconds between two views. Default: 1."),
  isOnce: flag(["--once"], "Print one view and end. This is the default if the output is not a terminal."),
  isJson: flag(["--json"], "Print one view as JSON and end. Times are in seconds, shares are fractions of 1."),
  isColourOff: flag(["--no-color", "--no-colour"], "Show no colours. The same as NO_COLOR in the environment."),
  isColourForced: flag(["--force-color", "--force-colour"], "Show colours even if the output is not a terminal."),
};

export const topCommand: CommandTable<typeof generalOptions & typeof viewOptions> = {
  program: "saltworks top",
  usage: "saltworks top [options]",
  about:
    "Shows the work of this machine's master, second by second: requests, batches, queues, stages, workers, limits. Keys: q ends it.",
  groups: [{ title: "", options: { ...generalOptions, ...viewOptions } }],
  unavailable: [],
};
