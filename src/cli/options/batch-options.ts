/** The options of `saltworks salt` that run a job in batches: Salt's options in Salt's order, then options that Salt does not have. */
import { int, text } from "./option.ts";

export const batchOptions = {
  batch: text(
    ["-b", "--batch", "--batch-size"],
    "BATCH",
    "Run the job on BATCH minions at a time: a number, or a percentage of the minions that answer a ping, '10%'. The batch runs in the master and goes on without this command.",
  ),
  batchWait: text(
    ["--batch-wait"],
    "BATCH_WAIT",
    "Seconds to wait after a minion has returned before another takes its place.",
  ),
  batchSafeLimit: int(
    ["--batch-safe-limit"],
    "BATCH_SAFE_LIMIT",
    "Run the job in batches if at least this many minions match. Default: the configured batch_safe_limit; 0: never.",
  ),
  batchSafeSize: text(
    ["--batch-safe-size"],
    "BATCH_SAFE_SIZE",
    "Size of such batches. Default: the configured batch_safe_size, 8.",
  ),
};

/** Options that Salt does not have. */
export const saferBatchOptions = {
  canary: int(
    ["--canary"],
    "CANARY",
    "With -b: run the job first on this many minions alone, the first by name or in the order of -L, and on the others only if all of these succeed.",
  ),
  batchMaxFailures: text(
    ["--batch-max-failures"],
    "FAILURES",
    "With -b: start no more minions after this many have failed or stayed silent: a number, or a percentage of the batch's minions, '5%'.",
  ),
};
