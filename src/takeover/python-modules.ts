/** The site's own Python that Salt's master loads: what the sidecar runs, what it does not, and what is for minions alone. */
import { join } from "node:path";
import { entriesIfThere } from "../config/files/missing.ts";
import type { MasterConfig } from "../config/load.ts";
import { type Finding, looked, type Plugin } from "./finding.ts";

/** Kinds of modules that a master loads, by the folder below `extension_modules`; below `file_roots` the name has `_` before it. */
const masterKinds: Readonly<Record<string, string>> = {
  auth: "logins of external_auth",
  cache: "stores of minions' data",
  engines: "engines",
  fileserver: "backends of files",
  netapi: "APIs",
  outputters: "outputters",
  pillar: "sources of ext_pillar",
  queues: "queues",
  renderers: "renderers",
  returners: "returners, as job cache or event_return",
  roster: "rosters of salt-ssh",
  runners: "runners",
  sdb: "sources of sdb:// values",
  thorium: "Thorium's functions",
  tokens: "stores of tokens",
  tops: "sources of master_tops",
  wheel: "wheel functions",
};
/** Kinds that minions load as well. In `file_roots` they are for minions, unless `saltutil.sync_*` has brought them to `extension_modules`. */
const minionKinds: ReadonlySet<string> = new Set(["cache", "engines", "outputters", "renderers", "returners", "sdb"]);
/** Options that name further directories of one kind. */
const directoryOptions: Readonly<Record<string, string>> = {
  engines_dirs: "engines",
  netapi_dirs: "netapi",
  outputter_dirs: "outputters",
  pillar_dirs: "pillar",
  queue_dirs: "queues",
  render_dirs: "renderers",
  returner_dirs: "returners",
  runner_dirs: "runners",
  top_dirs: "tops",
  wheel_dirs: "wheel",
};

/** Kinds that the sidecar runs, as it asks Salt's loader for them. `runner_module` and the like: whether a module has any function. */
const servedKinds: Readonly<Record<string, Plugin["kind"]>> = {
  auth: "auth",
  engines: "engines",
  fileserver: "fileserver",
  outputters: "outputters",
  pillar: "pillar",
  queues: "queues",
  renderers: "renderers",
  returners: "returner_module",
  runners: "runner_module",
  sdb: "sdb",
  tops: "tops",
  wheel: "wheel_module",
};
/** One finding for each module in Python that Salt's master would load. */
export function pythonFindings(config: MasterConfig): readonly Finding[] {
  const module = [...textsIn(config, "extension_modules"), ...textsIn(config, "module_dirs")].flatMap((folder) =>
    Object.keys(masterKinds).map((kind) => [kind, join(folder, kind)] as const),
  );
  const named = Object.entries(directoryOptions).flatMap(([option, kind]) =>
    textsIn(config, option).map((folder) => [kind, folder] as const),
  );
  const roots = Object.values(config.file_roots).flat() as readonly string[];
  const served = roots.flatMap((root) =>
    Object.keys(masterKinds)
      .filter((kind) => !minionKinds.has(kind))
      .map((kind) => [kind, join(root, `_${kind}`)] as const),
  );
  const folders = new Map([...module, ...named, ...served].map(([kind, folder]) => [folder, kind]));
  return Array.from(folders).flatMap(([folder, kind]) =>
    looked(kind, folder, () =>
      modulesIn(folder).map((name): Finding => {
        const served = servedKinds[kind];
        return {
          ...({ verdict: "lost", name: `${kind}.${name}`, place: folder } as const),
          about: `a module in Python (${masterKinds[kind]}), which this master does not load`,
          ...(served === undefined ? {} : { plugins: [{ kind: served, name }] }),
        };
      }),
    ),
  );
}

function textsIn({ opts }: MasterConfig, option: string): readonly string[] {
  const value = opts.get(option);
  if (typeof value === "string") return value === "" ? [] : [value];
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function modulesIn(folder: string): readonly string[] {
  return entriesIfThere(folder).flatMap((entry) => {
    if (entry.name.startsWith("__")) return [];
    if (entry.isDirectory()) return isPackage(join(folder, entry.name)) ? [entry.name] : [];
    const [, name] = /^(.+?)\.(?:py|pyx|so|cpython-.*)$/.exec(entry.name) ?? [];
    return name === undefined ? [] : [name];
  });
}

function isPackage(folder: string): boolean {
  return entriesIfThere(folder).some(({ name }) => name === "__init__.py");
}
