/** Names of the functions that only read. A client may call them without a job record and without events. */

const presences = ["present", "joined", "allowed", "alived", "reaped"].flatMap((name) => [name, `not_${name}`]);

/** Functions that ask minions are not among them: their jobs have records, whatever calls them. */
const readingFunctions = {
  runner: new Set([
    ..."list_jobs list_jobs_filter list_job print_job lookup_jid last_run exit_success status minions pending batches master cache_status"
      .split(" ")
      .map((name) => `jobs.${name}`),
    ...["list_state", "list_not_state", ...presences].map((name) => `manage.${name}`),
    ...["grains", "pillar", "mine", "list", "fetch"].map((name) => `cache.${name}`),
    ...["envs", "file_list", "dir_list", "empty_dir_list", "symlink_list"].map((name) => `fileserver.${name}`),
    ...["config.get", "doc.runner", "doc.wheel", "match.compound_matches", "saltworks.counters"],
  ]),
  wheel: new Set([
    ..."list list_all name_match finger finger_master print".split(" ").map((name) => `key.${name}`),
    ...["config.values", "minions.connected", "saltworks.batch", "saltworks.counters", "saltworks.returns"],
  ]),
} as const;

export function isReading(kind: "runner" | "wheel", name: string): boolean {
  return readingFunctions[kind].has(name);
}

/** For tests. */
export const readingNames: Readonly<Record<"runner" | "wheel", readonly string[]>> = {
  runner: [...readingFunctions.runner],
  wheel: [...readingFunctions.wheel],
};
