/** Salt 3007's own returners, with their Python clients in the folder `clients` beside the releases. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Settings } from "../../minion/returners/passing.ts";
import { repositoryRoot } from "../../root.ts";
import { runCommand } from "../program.ts";
import { findRelease, installRelease, type SaltRelease, venvsFolder } from "../salt-releases.ts";

/** Packages by the module that each brings. Salt imports what Elasticsearch's clients of release 8 no longer have. */
const clients: Readonly<Record<string, string>> = {
  pymysql: "pymysql",
  psycopg2: "psycopg2-binary",
  redis: "redis",
  "memcache.py": "python-memcached",
  influxdb: "influxdb",
  elasticsearch: "elasticsearch<8",
  pymongo: "pymongo",
  confluent_kafka: "confluent-kafka",
};
/** Returners that left Salt with release 3008. Without their dependencies, which would bring Salt itself. */
const extensions = ["saltext-mysql", "saltext-redis"];
const installTimeoutMs = 600_000;

export type SaltsReturners = {
  readonly skip: string | false;
  readonly release: SaltRelease | undefined;
  /** Where the Python clients are. */
  readonly folder: string;
  /** Passes each return. Fails if Salt's returner raises or logs an error. */
  readonly pass: (name: string, options: Settings, returns: readonly unknown[]) => Promise<void>;
  /** Calls its `clean_old_jobs`, as Salt's master does. */
  readonly clean: (name: string, options: Settings) => Promise<void>;
};

export async function openSaltsReturners(): Promise<SaltsReturners> {
  const isRequired = process.env.CI === "true";
  const release = isRequired ? await installRelease("3007", () => undefined) : await findRelease("3007");
  const folder = clientsFolder();
  if (release !== undefined && isRequired) await installClients(release);
  const isThere = release !== undefined && missingClients().length === 0 && existsSync(extensionsFolder());
  const ask = async (question: { readonly name: string; readonly options: Settings }) => {
    if (release === undefined) throw new Error("Salt 3007 is not installed");
    const script = join(repositoryRoot, "test/interop/returners/pass.py");
    const stdin = JSON.stringify(question);
    const ended = await runCommand(release.program("python"), [script], { stdin, env: { PYTHONPATH: folder } });
    if (ended.code !== 0 || /ERROR|CRITICAL/.test(ended.stderr)) throw new Error(`${question.name}: ${ended.stderr}`);
  };
  return {
    skip: isThere ? false : `Salt 3007 and ${folder} are not installed`,
    release,
    folder,
    pass: async (name, options, returns) => await ask({ name, options, ...{ returns } }),
    clean: async (name, options) => await ask({ name, options, ...{ cleans: true } }),
  };
}

function clientsFolder(): string {
  return join(venvsFolder(), "clients");
}

function missingClients(): string[] {
  return Object.keys(clients).filter((name) => !existsSync(join(clientsFolder(), name)));
}

export function extensionsFolder(): string {
  return join(venvsFolder(), "extensions");
}

/** Installs the Python clients and extensions of Salt that are missing. */
export async function installClients(release: SaltRelease): Promise<void> {
  const missing = missingClients().map((name) => clients[name] ?? name);
  if (missing.length > 0) await install(release, [clientsFolder(), ...missing]);
  if (!existsSync(extensionsFolder())) await install(release, [extensionsFolder(), "--no-deps", ...extensions]);
}

async function install(release: SaltRelease, words: readonly string[]): Promise<void> {
  const args = ["install", "--quiet", "--target", ...words];
  const ended = await runCommand(release.program("pip"), args, { timeoutMs: installTimeoutMs });
  if (ended.code !== 0) throw new Error(`pip ${args.join(" ")}: ${ended.stderr}`);
}
