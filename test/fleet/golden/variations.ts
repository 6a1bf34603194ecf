/** Values of the machine, not of the program: reduces a recorded text and ours to the part that can be compared. */

type Vary = (text: string) => string;

/** Documentation texts are ours. Compared are the names of documented functions, and that examples follow. */
const documented: Vary = (text) =>
  text
    .replace(/"\\n {4}[^"]*CLI Example:[^"]*"/g, '"<documentation>"')
    .split("\n")
    .filter((line) => /^[\w.]+:$|^ *CLI Example:$|^[^ ].*<documentation>|^ *".*<documentation>|^[{}]/.test(line))
    .map((line) => line.trim())
    .join("\n");

/** The function's documentation below the message. */
const ownUsage: Vary = (text) => text.replace(/(Passed invalid arguments[^\n]*\n)[\s\S]*$/, "$1<documentation>\n");
const ownUsageOfBatch: Vary = (text) =>
  text.replace(/(Passed invalid arguments[^\n]*\n)[\s\S]*?(?=^\w)/m, "$1<documentation>\n");

const numbers: Vary = (text) => text.replace(/-?\d+(?:\.\d+)?(?:e-?\d+)?/g, "<number>");
const hexDigits: Vary = (text) => text.replace(/\b[\da-f]{64}\b/g, "<hash>");
const numbersAndClock: Vary = (text) =>
  numbers(text.replace(/\d{4}-\d\d-\d\dT[\d:.]+/g, "<time>").replace(/\d+:\d+/g, "<clock>"));
const pidsOfMinions: Vary = (text) => sortedLines(text.replace(/("?es[12]"?:\s+)\d+/g, "$1<pid>"));
const sortedLines: Vary = (text) =>
  text
    .split("\n")
    .map((line) => line.replace(/,$/, ""))
    .sort()
    .join("\n");
/** The values of the loopback interface are the same on every machine. */
const onlyLoopback: Vary = (text) => /^ {4}lo:\n(?: {8}.*\n)*/m.exec(text)?.[0] ?? text;
/** Only values of the loopback interface are the same on every machine. */
const withoutAddresses: Vary = (text) => text.replace(/^ {4}- (?!127\.).*\n/gm, "");
/** Names of grains that both have, sorted; their values depend on the machine. */
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

/** Grains that depend on the machine (its container, desktop, packages), or that only one of the programs has. */
const ownGrains = new Set([
  ...["package", "pythonexecutable", "pythonpath", "pythonversion", "saltpath", "zmqversion", "zfs_support"],
  ...[
    "zfs_feature_flags",
    "color",
    "tags",
    "site",
    "lvm",
    "efi-secure-boot",
    "kernelparams",
    "ip6_gw",
    "ip4_gw",
    "ip_gw",
  ],
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

/** Events of this job only, without events of ours: the recorded stream began with events of an earlier job. */
const eventsOfOneJob: Vary = (text) => {
  const jid = /^(\d{20})\t/m.exec(text)?.[1] ?? "none";
  return (
    text
      .split(/^(?=\S+\t\{)/m)
      .filter((event) => event.slice(0, event.indexOf("\t")).includes(jid) && !event.startsWith("saltworks/"))
      // In any order, because minions belong to workers by chance.
      .map((event) =>
        event.replace(/(?<="minions": \[)[^\]]*(?=\])/, (ids) => (ids.match(/"[^"]+"/g) ?? []).sort().join()),
      )
      .join("")
  );
};

const reportedSections: Vary = (text) => (text.match(/^ +(?:Dependency|System) Versions:$/gm) ?? []).join("\n");

/** The choice of minions is random. */
const anyMinions: Vary = (text) => text.replace(/^(?:es[12]|10\.40\.0\.9|\w+\.example\.com):$/gm, "<minion>:");

/** A map of jobs on one line, in the order in which they were found. */
const jobsOfOneLine: Vary = (text) =>
  text
    .split(/(?<=\}), (?="\d{20}": )/)
    .map((job) => job.replace(/^\{(?=")|"\d{20}": |\}(?=\n)/g, "").trim())
    .sort()
    .join("\n");

export const variations: { readonly [key: string]: Vary } = {
  "cli_options:doc_func": documented,
  "cli_options:doc_mod_sys": documented,
  "cli_options:doc_default_target": documented,
  "cli_options:doc_json": documented,
  "functions:sys_doc_multi": documented,
  "salt_call:doc": documented,
  "manage_runner:doc": (text) => (text.startsWith("manage.up:\n") ? "manage.up:\n" : text),
  "manage_runner:event_send": (text) => text.replace(/(?<=^event\.send:\n)[\s\S]*/, "<documentation>\n"),
  "functions:cmd_run_notfound_noshell": (text) => text.replace(/(?<=with the context ').*(?=', reason: )/, "<context>"),
  "salt_call:bad_args": () => "<documentation>",
  "test_module:too_many_args": ownUsage,
  "test_module:missing_arg": ownUsage,
  "test_module:try": ownUsage,
  "test_module:badarg_batch": ownUsageOfBatch,
  "functions:data_dump": ownUsage,
  "jobs_search:by_function_csv": jobsOfOneLine,
  "jobs_search:by_metadata_any": jobsOfOneLine,
  "manage_runner:bad_args": ownUsage,
  "test_module:fib": numbers,
  "test_module:collatz": (text) => text.replace(/^ {4}- [\d.e-]+$/m, "    - <seconds>"),
  // The libraries that each is built on.
  "test_module:versions": reportedSections,
  "test_module:versions_report": reportedSections,
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
  "functions:net_ip_addrs": withoutAddresses,
  "functions:net_ip_addrs_lo": withoutAddresses,
  "functions:net_ip_addrs6": withoutAddresses,
  "functions:net_hwaddr": (text) =>
    text.replace(/[\da-f]{2}(:[\da-f]{2}){5}|^ {4}eth0 not found\n|^ {4}.*\n/gm, "<address>"),
  "functions:net_subnets": withoutAddresses,
  "functions:net_hostname": (text) => text.replace(/^ {4}\S+\n/m, "    <name>\n"),
  "functions:grains_items": grainNames,
  "functions:grains_ls": grainList,
  "functions:file_stats": (text) => text.replace(/^ {8}\d+(?:\.\d+)?$/gm, "        <number>"),
  "functions:file_readdir": sortedLines,
  "unique_jid_presence:presence": (text) => text.replace(/(?<="present": )\[[^\]]*\]/, "<ids>"),
  "not_connected:manage_alived": (text) => text.replace(/^ {4}[\d.]+$/gm, "    <address>"),
  // Other jobs that run at that moment.
  "functions:running_self": (text) => text.split("\n")[0] ?? "",
  "functions:hosts_list": (text) =>
    / {4}127\.0\.0\.1:\n {8}-+\n {8}aliases:\n {12}- localhost\n/.exec(text)?.[0] ?? text,
  "functions:user_info": (text) => text.replace(/(?<= {4}home:\n {8}).*/, "<home>"),
  "cli_options:subset2": anyMinions,
  "cli_options:subset_verbose": anyMinions,
  "timing:ctrl_c_batch": (text) => text.replace(/'es[12]'/, "'es1'"),
  "salt_call:mine_get_one": numbersAndClock,
  "salt_call:mine_get_multi": sortedLines,
  "jobs_runner:active_running": pidsOfMinions,
  "jobs_runner:active_running_json": pidsOfMinions,
  "manage_runner:cache_mine": numbersAndClock,
  "manage_runner:cache_fetch": numbersAndClock,
  "events:ping_events_pretty": eventsOfOneJob,
  "events:ping_events_compact": eventsOfOneJob,
};
