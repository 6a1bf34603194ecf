/** This program run by a user who is not root: a copy if the user cannot read the checkout, and a home directory for the user. */
import { spawnSync } from "node:child_process";
import { chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { repositoryRoot } from "../root.ts";

export type OrdinaryUser = {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  /** A directory of the user, which `remove` deletes. */
  readonly home: string;
  /** `bin/saltworks`, which the user may run. */
  readonly program: string;
  /** The environment: the user's home, and a `node` on the path that the user may run. */
  readonly env: NodeJS.ProcessEnv;
  remove(): void;
};

/** The reason why these tests cannot run here; false if they can. */
export const needsRoot =
  process.getuid?.() === 0 || process.env.CI === "true" ? false : "only root can start programs as another user";

const numberOf = (flag: string): number => Number(spawnSync("id", [flag, "nobody"], { encoding: "utf8" }).stdout);

export function ordinaryUser(): OrdinaryUser {
  const [uid, gid] = [numberOf("-u"), numberOf("-g")];
  const may = (flag: string, path: string) => spawnSync("test", [flag, path], { uid, gid, cwd: "/" }).status === 0;
  const home = mkdtempSync(join(tmpdir(), "sw-"));
  chownSync(home, uid, gid);
  const folders = [dirname(process.execPath), ...(process.env.PATH ?? "").split(delimiter)];
  const nodeFolder = folders.find((folder) => may("-x", join(folder, "node")));
  const isReadable =
    may("-r", join(repositoryRoot, "dist/src/cli/main.js")) && may("-x", join(repositoryRoot, "node_modules"));
  const root = isReadable ? repositoryRoot : copyInto(mkdtempSync(join(tmpdir(), "sw-")));
  const { NODE_OPTIONS: _options, SUDO_USER: _sudo, ...inherited } = process.env;
  return {
    name: "nobody",
    uid,
    gid,
    home,
    program: join(root, "bin/saltworks"),
    env: { ...inherited, HOME: home, TMPDIR: home, PATH: [nodeFolder, process.env.PATH].join(delimiter) },
    remove: () => {
      rmSync(home, { recursive: true });
      if (!isReadable) rmSync(root, { recursive: true });
    },
  };
}

/** The files that the program needs at run time. */
function copyInto(root: string): string {
  spawnSync("chmod", ["755", root]);
  for (const name of ["bin", "dist/src", "package.json"])
    cpSync(join(repositoryRoot, name), join(root, name), { recursive: true });
  const lock = JSON.parse(readFileSync(join(repositoryRoot, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
  };
  for (const [name, { dev }] of Object.entries(lock.packages)) {
    if (name === "" || dev === true || !existsSync(join(repositoryRoot, name))) continue;
    mkdirSync(dirname(join(root, name)), { recursive: true });
    cpSync(join(repositoryRoot, name), join(root, name), { recursive: true });
  }
  spawnSync("chmod", ["-R", "a+rX", root]);
  return root;
}
