/**
 * Which folder of src may import which: the table of the house, as data. docs/ARCHITECTURE.md explains it.
 * A folder may only name folders that stand above it.
 */

/** Modules that every folder may import. */
export const openToAll = ["errors", "limits"] as const;

const data = ["wire", "crypto", "config", "python", "target"] as const;
const engine = ["pillar", "fileserver", "runners"] as const;

/** In the order of the house, top to bottom: bytes travel down it. */
export const layers: Readonly<Record<string, readonly string[]>> = {
  wire: [],
  crypto: ["wire"],
  config: [],
  python: ["wire", "config"],
  target: ["wire", "python"],
  transport: ["wire", "crypto", "config"],
  store: ["wire", "crypto", "config"],
  pillar: ["wire", "config", "python", "target", "store"],
  fileserver: ["wire", "config", "python", "target", "store"],
  runners: ["wire", "config", "python", "target", "store"],
  workers: [...data, "store", ...engine],
  master: [...data, "transport", "store", ...engine, "workers"],
  client: [...data, "transport", "store"],
  api: ["client", "config"],
  minion: [...data, "transport"],
  cli: [...data, "transport", ...engine, "master", "client", "api", "minion"],
};

/** Packages that these files alone may name, so that they can be replaced there. */
export const packageHomes: Readonly<Record<string, readonly string[]>> = {
  koffi: ["src/cli/host/system-calls.ts", "src/transport/keepalive.ts"],
  piscina: ["src/workers/threads/pool.ts"],
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
/** The table of all bounds is looked up, not read: one line or two a bound, under headings. */
export const limitsTable = "src/limits.ts";
export const limitsLinesMax = 1_000;
export const functionLinesMax = 70;
/** More files in one folder need rooms. */
export const folderFilesMax = 20;
/** Shorter functions may look alike by chance. */
export const alikeCodeMin = 90;
/** Words that make a reader look twice: minion, operator, client or caller say who, a number or a code says what. */
export const bannedWords =
  /\b(?:whoever|whom|nobody|somebody|he|those that|so many|with a word)\b|(?<!there )\b(?:is|are) no\b(?! (?:longer|more)\b)/gi;
