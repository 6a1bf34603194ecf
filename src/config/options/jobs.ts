/** The master's options about jobs: timeouts, where and how long jobs are kept, how results are shown. Part of the table in master.ts. */
import { deliverWithinSecondsMax } from "../../limits.ts";
import { day, kept, mebibyte, ours, seconds } from "./details.ts";
import { eventReturnOptions } from "./event-returns.ts";
import { jobCacheDriverNames, jobCacheDriverOptions } from "./job-cache-drivers.ts";
import { boolean, choice, integer, text } from "./option.ts";

export const jobOptions = {
  timeout: integer(
    5,
    "How long the command line waits before it asks silent minions whether they still run the job.",
    seconds,
  ),
  gather_job_timeout: integer(10, "How long the command line then waits for their answers.", seconds),
  publish_timeout: integer(30, "How long a client waits for the master to accept a publication.", {
    ...kept,
    ...seconds,
  }),
  deliver_within: integer(
    0,
    "How long jobs wait for minions that are away, unless `--deliver-within` gives another time; 0: not at all, as in Salt.",
    { ...ours, min: 0, max: deliverWithinSecondsMax, unit: "seconds" },
  ),
  keep_jobs_seconds: integer(day, "Age at which a job leaves the cache; 0 keeps all.", {
    min: 0,
    max: 3_153_600_000,
    unit: "seconds",
  }),
  keep_jobs_count: integer(0, "Most jobs in the cache. The oldest leave first. 0: no bound.", {
    ...ours,
    min: 0,
    max: 100_000_000,
    unit: "jobs",
  }),
  keep_jobs_bytes: integer(0, "Size above which the oldest jobs leave the cache, whatever their age; 0: no bound.", {
    ...ours,
    min: 0,
    max: 100 * 1024 * 1024 * mebibyte,
    unit: "bytes",
  }),
  keep_jobs: integer(24, "Old form of `keep_jobs_seconds`, used if that isn't written.", {
    min: 0,
    max: 876_000,
    unit: "hours",
  }),
  archive_jobs: boolean(
    false,
    "Move old rows of the database of jobs (`master_job_cache`) to archive tables instead of deleting them.",
  ),
  job_cache: boolean(true, "Store returns. Off: only loads and expected minions are stored."),
  master_job_cache: choice(
    "lmdb",
    jobCacheDriverNames,
    "Where jobs are kept. `local_cache` keeps Salt's files current as `salt_files: always` does.",
  ),
  ext_job_cache: text("", "Returner that minions use for every job."),
  job_cache_store_endtime: boolean(false, "Note in Salt's layout when a job's last return came."),
  job_cache_durability: choice(
    "fsync",
    ["fsync", "commit", "async"],
    "When a return counts as stored and is acknowledged: on disk, or (`commit` and `async`) in the kernel's cache, which outlives the master but not the machine.",
    ours,
  ),
  ...jobCacheDriverOptions,
  job_cache_max_return_bytes: integer(100 * mebibyte, "Largest return that is stored.", {
    ...ours,
    min: 65_536,
    max: 2_000 * mebibyte,
    unit: "bytes",
  }),
  salt_files: choice(
    "auto",
    ["auto", "always", "never"],
    "Keep Salt's own files current, for Salt's tools and the way back: jobs in `local_cache` layout, and grains, pillars and mines of minions. `auto`: if Salt's programs are found, or Salt's master has left files in `cachedir`.",
    ours,
  ),
  local_cache_loads: boolean(
    true,
    "Leave each job's load and expected minions in Salt's layout: the Python command line needs them.",
    ours,
  ),
  unique_jid: boolean(false, "Job ids that carry the process id."),
  ...eventReturnOptions,
  runner_returns: boolean(true, "Store what runners return.", kept),
  show_timeout: boolean(true, "Name the minions that did not return."),
  show_jid: boolean(false, "Show the job id."),
  cli_summary: boolean(false, "Show a summary below the results."),
  confirm_above: integer(0, "`saltworks salt` asks before it sends a job to more minions than this; 0: never.", {
    isOurs: true,
    min: 0,
    max: 1_000_000,
    unit: "minions",
  }),
  output: text("", "Outputter for results; empty: `nested`, unless the result suggests another."),
  state_output: text("full", "How state runs are shown."),
  state_verbose: boolean(true, "Show states without changes, too."),
  batch_safe_limit: integer(
    0,
    "A job of `salt` to this many minions or more runs in batches automatically; 0 and 1: never.",
    {
      min: 0,
      max: 10_000_000,
      unit: "minions",
    },
  ),
  batch_safe_size: integer(8, "How many minions of such a batch run at a time.", {
    min: 1,
    max: 10_000_000,
    unit: "minions",
  }),
};
