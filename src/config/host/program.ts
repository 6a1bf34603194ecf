/** This program's version, and the Salt release whose behaviour it follows. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Templates and targets compare the grain `saltversioninfo` with releases of Salt, so it names the release that this program follows. */
export const saltReleaseFollowed = { text: "3007.15", info: [3007, 15] } as const;

type Package = { readonly version: string; readonly dependencies: Readonly<Record<string, string>> };

/** The package's folder: the nearest folder above this file with a package.json. */
export function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "package.json"))) folder = dirname(folder);
  return folder;
}

/** The command that installs an optional package beside this program. @param wanted - such as `mysql2@3` */
export function installCommand(wanted: string): string {
  return `npm --prefix ${packageRoot()} install --no-save ${wanted}`;
}

/** The package file, with exact versions of dependencies. */
export function readOwnPackage(): Package {
  return JSON.parse(readFileSync(join(packageRoot(), "package.json"), "utf8")) as Package;
}
