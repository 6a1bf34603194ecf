/** The options of `saltworks salt` that run a job in batches: Salt's in its order, then our own. */
import { int, text } from "./option.ts";

export const batchOptions = {
  batch: text(
    ["-b", "--batch", "--batch-size"],
    "BATCH",
    "Run the job on so many minions at a time: a number, or a percentage of those that answer a ping, '10%'. The batch runs in the master and goes on without this command.",
  ),
  batchWait: text(
    ["--batch-wait"],
    "BATCH_WAIT",
    "Seconds to wait after a minion has returned before another takes its place.",
  ),
  batchSafeLimit: int(
    ["--batch-safe-limit"],
    "BATCH_SAFE_LIMIT",
    "Run the job in batches by itself if at least so many minions match. Default: the configured batch_safe_limit, 0 for never.",
  ),
  batchSafeSize: text(
    ["--batch-safe-size"],
    "BATCH_SAFE_SIZE",
    "Size of such batches. Default: the configured batch_safe_size, 8.",
  ),
};

/** Salt has no such options. */
export const saferBatchOptions = {
  canary: int(
    ["--canary"],
    "CANARY",
    "With -b: run the job on the first so many minions alone, by name or as -L lists them, and on the others only if all of these succeed.",
  ),
  batchMaxFailures: text(
    ["--batch-max-failures"],
    "FAILURES",
    "With -b: start no more minions once so many have failed or stayed silent: a number, or a percentage of the batch's minions, '5%'.",
  ),
};
