/** Values that are the machine's, not the program's: what is left of a recorded text, and of ours, to be compared. */

type Vary = (text: string) => string;

/** Documentation texts are our own: what is documented, and that examples follow. */
const documented: Vary = (text) =>
  text
    .replace(/"\\n {4}[^"]*CLI Example:[^"]*"/g, '"<documentation>"')
    .split("\n")
    .filter((line) => /^[\w.]+:$|^ *CLI Example:$|^[^ ].*<documentation>|^ *".*<documentation>|^[{}]/.test(line))
    .map((line) => line.trim())
    .join("\n");

/** Below the message, the function's documentation. */
const ownUsage: Vary = (text) => text.replace(/(Passed invalid arguments[^\n]*\n)[\s\S]*$/, "$1<documentation>\n");
const ownUsageOfBatch: Vary = (text) =>
  executed(text.replace(/(Passed invalid arguments[^\n]*\n)[\s\S]*?(?=^\w)/m, "$1<documentation>\n"));

const numbers: Vary = (text) => text.replace(/-?\d+(?:\.\d+)?(?:e-?\d+)?/g, "<number>");
const hexDigits: Vary = (text) => text.replace(/\b[\da-f]{64}\b/g, "<hash>");
const numbersAndClock: Vary = (text) =>
  numbers(text.replace(/\d{4}-\d\d-\d\dT[\d:.]+/g, "<time>").replace(/\d+:\d\d/g, "<clock>"));
const pidsOfMinions: Vary = (text) => sortedLines(text.replace(/("?es[12]"?:\s+)\d+/g, "$1<pid>"));
const sortedLines: Vary = (text) =>
  text
    .split("\n")
    .map((line) => line.replace(/,$/, ""))
    .sort()
    .join("\n");
/** The loopback interface is the same everywhere. */
const onlyLoopback: Vary = (text) => /^ {4}lo:\n(?: {8}.*\n)*/m.exec(text)?.[0] ?? text;
/** Names of grains that both have, sorted; values are the machine's. */
const grainNames: Vary = (text) =>
  [...text.matchAll(/^ {8}"([\w-]+)":/gm)]
    .map(([, name]) => name ?? "")
    .filter((name) => !ownGrains.has(name))
    .sort()
    .join("\n");
const grainList: Vary = (text) =>
  (/\[(.*)\]/.exec(text)?.[1] ?? "")
    .split(", ")
    .filter((name) => !ownGrains.has(name.replaceAll('"', "")))
    .sort()
    .join("\n");

/** Grains that hang on the machine (its container, its desktop, its packages), or that only one of both programs has. */
const ownGrains = new Set([
  ...["fibre_channel_host", "iscsi_iqn", "biosreleasedate", "biosversion", "boardname", "manufacturer", "productname"],
  ...["serialnumber", "uuid", "selinux", "systemd", "virtual_subtype", "lsb_distrib_codename", "lsb_distrib_release"],
  ...[
    "osbuild",
    "lsb_distrib_description",
    "lsb_distrib_id",
    "oscodename",
    "hwaddr_interfaces",
    "machine_id",
    "transactional",
  ],
]);

/**
 * Which minions a batch takes first is chance: all that ran, how many at most at a time, and what was shown of each.
 */
export function executed(text: string): string {
  const runs = [...text.matchAll(/^Executing run on \[(.*)\]$/gm)].map(([, ids = ""]) => ids.split(", "));
  const shown = text
    .replace(/^\nExecuting run on \[.*\]\n\n/gm, "")
    .replace(/^jid:\n {4}\d+\nretcode:\n {4}\d+\n/gm, (block) => block.replace(/\d{20}/, "<jid>"));
  const most = Math.max(0, ...runs.map((ids) => ids.length));
  return `executed on ${runs.flat().sort().join(" ")}, at most ${most} at once\n${shown}`;
}

/** Events of the job that was asked for: the recorded stream began with what an earlier one had left. */
const eventsOfOneJob: Vary = (text) => {
  const jid = /^(\d{20})\t/m.exec(text)?.[1] ?? "none";
  return text
    .split(/^(?=\S+\t\{)/m)
    .filter((event) => event.slice(0, event.indexOf("\t")).includes(jid))
    .join("");
};

export const variations: { readonly [key: string]: Vary } = {
  "cli_options:doc_func": documented,
  "cli_options:doc_mod_sys": documented,
  "cli_options:doc_default_target": documented,
  "cli_options:doc_json": documented,
  "cli_options:retcode_batch": executed,
  "functions:sys_doc_multi": documented,
  "salt_call:doc": documented,
  "manage_runner:doc": documented,
  "salt_call:bad_args": () => "<documentation>",
  "test_module:too_many_args": ownUsage,
  "test_module:missing_arg": ownUsage,
  "test_module:try": ownUsage,
  "test_module:badarg_batch": ownUsageOfBatch,
  "test_module:multi_fail_batch": executed,
  "test_module:unknown_batch": executed,
  "test_module:exception_batch": executed,
  "functions:data_dump": ownUsage,
  "jobs_runner:last_run_fun": ownUsage,
  "jobs_runner:last_run_none": ownUsage,
  "manage_runner:bad_args": ownUsage,
  "test_module:fib": numbers,
  "test_module:collatz": (text) =>
    text.replace(/- [\d.]+e?-?\d*$/m, (line) => (line.includes("e-") || /0\.0/.test(line) ? "- <seconds>" : line)),
  "test_module:rand_str": hexDigits,
  "functions:status_uptime": numbersAndClock,
  "functions:status_loadavg": numbers,
  "functions:status_meminfo": (text) =>
    numbers(
      (text.match(/^.*"(?:MemTotal|MemFree|MemAvailable|Buffers|Cached|SwapCached|value|unit)".*$/gm) ?? [])
        .slice(0, 18)
        .join("\n"),
    ),
  "functions:status_diskusage": numbers,
  "functions:status_cpuload": numbers,
  "functions:status_pid": numbers,
  "functions:disk_percent": numbers,
  "functions:net_interfaces": onlyLoopback,
  "functions:net_ip_addrs": numbers,
  "functions:net_ip_addrs_lo": numbers,
  "functions:net_ip_addrs6": (text) => text.replace(/ - .*\n/g, ""),
  "functions:net_hwaddr": (text) =>
    text.replace(/[\da-f]{2}(:[\da-f]{2}){5}|^ {4}eth0 not found\n|^ {4}.*\n/gm, "<address>"),
  "functions:net_subnets": numbers,
  "functions:grains_items": grainNames,
  "functions:grains_ls": grainList,
  "functions:file_stats": (text) => numbers(text),
  "salt_call:mine_get_one": numbersAndClock,
  "salt_call:mine_get_multi": sortedLines,
  "jobs_runner:active_running": pidsOfMinions,
  "jobs_runner:active_running_json": pidsOfMinions,
  "manage_runner:cache_mine": numbersAndClock,
  "manage_runner:cache_fetch": numbersAndClock,
  "events:ping_events_pretty": eventsOfOneJob,
  "events:ping_events_compact": eventsOfOneJob,
};
