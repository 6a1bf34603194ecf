/**
 * The imports that each folder of src may have, as data. docs/ARCHITECTURE.md explains the layers.
 * A folder imports only folders beneath it; the list begins with the foundation.
 */

/** Modules that every folder may import. */
export const openToAll = ["deadline", "errors", "limits"] as const;

const data = ["wire", "crypto", "config", "python", "target"] as const;
const engine = ["git", "databases", "pillar", "fileserver", "runners", "sidecar"] as const;

/** In the order of the layers, foundation first. */
export const layers: Readonly<Record<string, readonly string[]>> = {
  wire: [],
  crypto: ["wire"],
  config: [],
  python: ["wire", "config"],
  target: ["wire", "python"],
  schedule: ["wire", "python"],
  states: ["wire", "python"],
  openid: ["config"],
  transport: ["wire", "crypto", "config"],
  store: ["wire", "crypto", "config"],
  cluster: ["wire", "crypto", "config", "store"],
  git: ["config", "python", "store"],
  databases: ["wire", "config", "python", "store"],
  pillar: ["wire", "config", "python", "target", "store", "git", "databases"],
  fileserver: ["wire", "config", "python", "target", "store", "git"],
  runners: ["wire", "config", "python", "target", "store", "cluster", "git", "databases"],
  sidecar: ["wire", "config"],
  takeover: ["config", "store", "git", "databases", "pillar", "runners", "sidecar"],
  workers: [...data, "openid", "store", "cluster", ...engine],
  master: [...data, "schedule", "transport", "store", "cluster", ...engine, "workers"],
  client: [...data, "transport", "store"],
  api: ["wire", "config", "python", "openid", "transport", "store", "client"],
  minion: [...data, "schedule", "states", "transport"],
  cli: [...data, "states", "transport", "cluster", ...engine, "takeover", "master", "client", "api", "minion"],
};

/** Packages that only these files may import, so that one file changes when a package is replaced. */
export const packageHomes: Readonly<Record<string, readonly string[]>> = {
  koffi: [
    "src/cli/host/system-calls.ts",
    "src/master/shutdown/leave.ts",
    "src/transport/keepalive.ts",
    "src/workers/measures/free-memory.ts",
  ],
  piscina: ["src/workers/threads/worker-pool.ts"],
};

export const forbiddenNames = [
  "utils",
  "util",
  "helpers",
  "helper",
  "common",
  "misc",
  "shared",
  "types",
  "index",
] as const;

export const fileLinesMax = 400;
export const functionLinesMax = 70;
/** A folder with more files needs subfolders. */
export const folderFilesMax = 20;
/** Shorter functions may be equal by chance: those with a name, and others such as arguments. Characters without comments. */
export const alikeCodeMin = { named: 70, others: 80 } as const;
/** Words that readers stumble over: say minion, operator, client or caller, and give a number or a code. */
export const bannedWords =
  /\b(?:whoever|whom|nobody|somebody|he|those that|so many|with a word)\b|(?<!there )\b(?:is|are) no\b(?! (?:longer|more)\b)/gi;
