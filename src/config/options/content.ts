/** The master's options about content for minions: files, pillar, and options that `_master_opts` sends. Part of the table in master.ts. */

import { decryptionOptions } from "./decryption.ts";
import { kept, mebibyte, ours, timerSecondsMax } from "./details.ts";
import { any, boolean, choice, integer, list, map, optional, text, textOrList } from "./option.ts";

export const contentOptions = {
  file_roots: map(
    { base: ["/srv/salt", "/srv/spm/salt"] },
    "Directories that serve files, by environment. In the directories of `__env__`, that word stands for the name of any environment that is not listed.",
  ),
  pillar_roots: map({ base: ["/srv/pillar", "/srv/spm/pillar"] }, "Directories of pillar files, by environment."),
  ext_pillar: list(
    [],
    "Sources of pillar other than files, in their order ([pillar.md](pillar.md)). Others [refuse the start](#options-that-are-not-built).",
  ),
  ext_pillar_first: boolean(false, "Sources of `ext_pillar` come before pillar files, which then see their values."),
  exclude_ext_pillar: list([], "Names of sources in `ext_pillar` that are skipped."),
  ext_pillar_timeout: integer(
    45,
    "How long the commands of one pillar (`cmd_yaml`, `cmd_json`) may take together. Then they are killed, and the pillar has an error (`_errors`). Minions wait 60 seconds: keep it below, so that they get the error.",
    { isOurs: true, min: 1, max: 3_600, unit: "seconds" },
  ),
  ext_pillar_commands: integer(
    8,
    "Pillars whose commands run at the same time, one command each. Further pillars wait and use no thread.",
    { isOurs: true, min: 1, max: 256, unit: "commands" },
  ),
  ext_pillar_failures: choice(
    "errors",
    ["errors", "ignore"],
    "A command that cannot be started, whose output cannot be read, or that fails without output: `errors` puts an error into the pillar, with which minions refuse state runs. `ignore`, as in Salt: the pillar lacks its values, and the log says so.",
    ours,
  ),
  on_demand_ext_pillar: list(
    ["libvirt", "virtkey"],
    "Sources that minions may ask for themselves (`pillar.ext`). Here only `extra_minion_data_in_pillar` is built. A request for any other gets a pillar with an error.",
  ),
  master_tops: map(
    {},
    "Further sources of the states in minions' highstates; here `ext_nodes: COMMAND`, which gets the minion's id and writes YAML. `ext_pillar_timeout` and `ext_pillar_commands` count here, too. Others [refuse the start](#options-that-are-not-built).",
  ),
  ...decryptionOptions,
  pillar_cache: boolean(
    false,
    "Keep rendered pillars, by minion and `pillarenv`, until they are older than `pillar_cache_ttl` or `saltutil.refresh_pillar` asks for new ones.",
  ),
  pillar_cache_ttl: integer(3_600, "How old a kept pillar may get.", { min: 0, max: timerSecondsMax, unit: "seconds" }),
  pillar_cache_backend: choice(
    "disk",
    ["disk", "memory"],
    "Where pillars are kept: in files of their own under `cachedir/pillar_cache`, as Salt's are, or in memory.",
  ),
  pillar_opts: boolean(false, "Put the master's options into each pillar, without secrets."),
  pillar_merge_lists: boolean(false, "Join lists of several pillar files instead of replacing them."),
  pillar_includes_override_sls: boolean(
    false,
    "Values of included pillar files win over values of the file that includes them.",
  ),
  pillar_safe_render_error: boolean(true, "Tell minions which pillar file failed, but not how."),
  pillar_raise_on_missing: boolean(
    false,
    "In pillar files `salt['pillar.get']` without a default fails for a key that is not there, and the pillar has an error.",
  ),
  pillar_source_merging_strategy: choice(
    "smart",
    ["smart", "recurse", "aggregate", "overwrite", "list", "none"],
    "How several pillar files and external sources combine: `recurse` (`smart` is `aggregate` if `renderer` ends in `yamlex`), `aggregate` (values that YAMLEX marks join), `overwrite` (by top-level key), `list` (lists of both values; keys that the first files lack are lost, as in Salt), `none` (only one environment).",
  ),
  pillarenv_from_saltenv: boolean(
    false,
    "Without a `pillarenv`, a minion's `saltenv` is the environment of its pillar.",
  ),
  pillar_threads: integer(
    2,
    "Threads that render pillars. They yield to all other threads. More threads help a fleet that starts at once, up to the number of cores.",
    { isOurs: true, min: 1, max: 64, unit: "threads" },
  ),
  pillar_render_timeout: integer(
    30,
    "How long the rendering of one minion's pillar may take. Then its thread is replaced, and the minion gets a pillar with an error (`_errors`). Minions wait 60 seconds: keep it below, so that they get the error.",
    { isOurs: true, min: 1, max: 3_600, unit: "seconds" },
  ),
  fileserver_backend: list(
    ["roots"],
    "Sources of files, in the order of their search: `roots`, `git` ([git.md](git.md)), `minionfs` (what minions have pushed, without top files). Another [refuses the start](#options-that-are-not-built), and so does an empty list.",
  ),
  fileserver_followsymlinks: boolean(true, "Links below a file root may lead out of it."),
  fileserver_ignoresymlinks: boolean(false, "Links are left out of lists of files."),
  fileserver_list_cache_time: integer(20, "How old a list of files may get. 0: each request makes a new list.", {
    min: 0,
    max: 86_400,
    unit: "seconds",
  }),
  fileserver_events: boolean(false, "Fire an event for each `fileserver.update`, with the changes."),
  file_ignore_regex: textOrList(
    [],
    "Python regular expressions for files that are not served. They match anywhere in the path.",
  ),
  file_ignore_glob: textOrList([], "Globs for files that are not served. They match the whole path."),
  file_buffer_size: integer(mebibyte, "Size of the pieces in which a file is served.", {
    min: 4_096,
    max: 64 * mebibyte,
    unit: "bytes",
  }),
  salt_cp_chunk_size: integer(
    98_304,
    "Size of the pieces in which `cp --chunked` sends a file. In a job, Base64 adds a third.",
    {
      min: 1_024,
      max: 16 * mebibyte,
      unit: "bytes",
    },
  ),
  minionfs_env: text("base", "The environment in which the backend `minionfs` serves what minions have pushed."),
  minionfs_mountpoint: text("", "A path before the ids of minions in the backend `minionfs`."),
  minionfs_whitelist: list([], "The only minions whose pushed files are served: globs or regular expressions."),
  minionfs_blacklist: list([], "Minions whose pushed files are not served: globs or regular expressions."),
  file_recv: boolean(false, "Minions may send files (`cp.push`), which are kept in `cachedir/minions/ID/files`."),
  file_recv_max_size: integer(100, "Largest file that a minion may send.", { min: 0, max: 1_048_576, unit: "MiB" }),
  file_recv_minion_max_size: integer(1_024, "Size of all files that one minion has sent, together.", {
    isOurs: true,
    min: 1,
    max: 16_777_216,
    unit: "MiB",
  }),
  file_recv_minion_max_files: integer(10_000, "Most files that one minion may send, directories counted.", {
    isOurs: true,
    min: 1,
    max: 100_000_000,
    unit: "files",
  }),
  file_recv_total_max_size: integer(
    10_240,
    "Size of all files that all minions have sent, together. Over it a push is refused: the minion gets False.",
    { isOurs: true, min: 1, max: 1_073_741_824, unit: "MiB" },
  ),
  file_recv_total_max_files: integer(
    1_000_000,
    "Most files that all minions may send, directories counted. The master counts them at its start and at the bound: 1,000,000 files take some 20 s.",
    { isOurs: true, min: 1, max: 100_000_000, unit: "files" },
  ),
  grains_max_bytes: integer(
    4 * mebibyte,
    "Largest grains of one minion, with the other data that it sends for its pillar (`extra_minion_data_in_pillar`). With more the minion gets a pillar with an error (`_errors`), and the master keeps the minion's former data.",
    { isOurs: true, min: 16_384, max: 64 * mebibyte, unit: "bytes" },
  ),
  mine_max_bytes: integer(4 * mebibyte, "Largest mine of one minion. An update that would make it larger is refused.", {
    isOurs: true,
    min: 1_024,
    max: 64 * mebibyte,
    unit: "bytes",
  }),
  mine_max_functions: integer(1_000, "Most functions in the mine of one minion.", {
    isOurs: true,
    min: 1,
    max: 100_000,
    unit: "functions",
  }),
  reactor: list([], "Tags of events (globs), each with the SLS files that it starts ([reactor.md](reactor.md))."),
  reactor_worker_threads: integer(10, "Runner and wheel functions that the reactor runs at once.", {
    min: 1,
    max: 1_000,
  }),
  reactor_worker_hwm: integer(
    10_000,
    "Events that wait for the reactor, and runner and wheel calls that wait for it. With more the newest are dropped.",
    { min: 1, max: 1_000_000 },
  ),
  reactor_render_timeout: integer(
    5,
    "How long the files of one event may take. Then the reactor's thread is replaced, and the entry of `reactor` rests for a minute.",
    { isOurs: true, min: 1, max: 3_600, unit: "seconds" },
  ),
  schedule: map(
    {},
    "Runner functions that the master runs at scheduled times, with the times of a minion's `schedule` ([schedule.md](schedule.md)).",
  ),
  engines: list([], "Long-running plug-ins. The entry `reactor` may set the reactor's options."),
  runner_dirs: list([], "Directories of the site's own runners, in Python (`salt_python`)."),
  // Options that `_master_opts` sends to a minion before a state run:
  renderer: text("jinja|yaml", "How state files are rendered."),
  failhard: boolean(false, "Stop a state run at the first failure."),
  state_top: text("top.sls", "Name of the top file."),
  state_top_saltenv: optional(text("", "Only this environment's top file.")),
  top_file_merging_strategy: choice(
    "merge",
    ["merge", "same", "merge_all"],
    "How top files of several environments combine.",
  ),
  env_order: list([], "Order of environments when merging."),
  default_top: text("base", "Environment for `top_file_merging_strategy: same`."),
  state_auto_order: boolean(true, "Run states in the order in which they are written."),
  state_events: boolean(false, "Fire an event for each state."),
  state_aggregate: any(false, "Combine states where that is possible."),
  jinja_env: map(
    {},
    "Options of Jinja in top files and in files other than states. Minions get them. Pillars obey `trim_blocks` and `lstrip_blocks`; a warning at the start names others.",
  ),
  jinja_sls_env: map(
    {},
    "Options of Jinja in pillar files and states. Pillars obey the same two; others [refuse the start](#options-that-are-not-built).",
  ),
  jinja_lstrip_blocks: boolean(false, "Jinja's `lstrip_blocks`."),
  jinja_trim_blocks: boolean(false, "Jinja's `trim_blocks`."),
  saltenv: optional(text("", "Environment of state runs.", kept)),
  pillarenv: optional(text("", "Environment of pillars, unless a minion asks for another.")),
};
