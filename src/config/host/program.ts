/** Which program this is: its own version, and the Salt release whose behaviour it follows. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Templates and targets compare the grain `saltversioninfo` with releases of Salt, so it names the one that is followed here. */
export const saltReleaseFollowed = { text: "3007.15", info: [3007, 15] } as const;

type Package = { readonly version: string; readonly dependencies: Readonly<Record<string, string>> };

/** The compiled program lies some folders below its package. */
export function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "package.json"))) folder = dirname(folder);
  return folder;
}

/** This program's package file: versions of its dependencies are exact in it. */
export function readOwnPackage(): Package {
  return JSON.parse(readFileSync(join(packageRoot(), "package.json"), "utf8")) as Package;
}
