/** Salt 3007's own returners, with their Python clients in the folder `clients` beside the releases. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Settings } from "../../minion/returners/passing.ts";
import { repositoryRoot } from "../../root.ts";
import { runCommand } from "../program.ts";
import { findRelease, installRelease, type SaltRelease, venvsFolder } from "../salt-releases.ts";

const clients = ["pymysql", "psycopg2-binary", "redis", "python-memcached", "influxdb"];
const installTimeoutMs = 600_000;

export type SaltsReturners = {
  readonly skip: string | false;
  readonly release: SaltRelease | undefined;
  /** Where the Python clients are. */
  readonly folder: string;
  /** Passes each return. Fails if Salt's returner raises or logs an error. */
  readonly pass: (name: string, options: Settings, returns: readonly unknown[]) => Promise<void>;
};

export async function openSaltsReturners(): Promise<SaltsReturners> {
  const isRequired = process.env.CI === "true";
  const release = isRequired ? await installRelease("3007", () => undefined) : await findRelease("3007");
  const folder = join(venvsFolder(), "clients");
  if (release !== undefined && isRequired && !existsSync(folder)) await installClients(release, folder);
  const isThere = release !== undefined && existsSync(folder);
  return {
    skip: isThere ? false : `Salt 3007 and ${folder} are not installed`,
    release,
    folder,
    pass: async (name, options, returns) => {
      if (release === undefined) throw new Error("Salt 3007 is not installed");
      const script = join(repositoryRoot, "test/interop/returners/pass.py");
      const stdin = JSON.stringify({ name, options, returns });
      const ended = await runCommand(release.program("python"), [script], { stdin, env: { PYTHONPATH: folder } });
      if (ended.code !== 0 || /ERROR|CRITICAL/.test(ended.stderr)) throw new Error(`${name}: ${ended.stderr}`);
    },
  };
}

async function installClients(release: SaltRelease, folder: string): Promise<void> {
  const args = ["install", "--quiet", "--target", folder, ...clients];
  const ended = await runCommand(release.program("pip"), args, { timeoutMs: installTimeoutMs });
  if (ended.code !== 0) throw new Error(`pip ${args.join(" ")}: ${ended.stderr}`);
}
