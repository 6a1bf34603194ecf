/** The minions that a master has accepted, from its key directory. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { SaltworksError } from "../../src/errors.ts";

/** @throws SaltworksError CONFIG_UNREADABLE for a directory that this user may not read */
export function acceptedKeys(pkiDirectory: string): string[] {
  const directory = join(pkiDirectory, "minions");
  try {
    return readdirSync(directory).filter((name) => !name.startsWith("."));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw new SaltworksError("CONFIG_UNREADABLE", `${directory}: ${(error as Error).message}`);
  }
}
