/** Reads the minion's data store, the file `datastore` in its cache directory. `data` targets match it. Source: Salt 3007's `data` module. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { SaltworksError } from "../../errors.ts";
import { decode } from "../../wire/msgpack.ts";
import type { ValueMap } from "../../wire/values.ts";

/** Returns an empty map without the file. @throws SaltworksError TARGET_INVALID if the file cannot be read: its targets cannot be matched */
export function readDataStore(cacheDir: string): ValueMap {
  try {
    const value = decode(readFileSync(join(cacheDir, "datastore")));
    return value instanceof Map ? value : new Map();
  } catch (error) {
    if (hasCodeIn(error, "ENOENT")) return new Map();
    const why = error instanceof Error ? error.message : String(error);
    throw new SaltworksError(
      "TARGET_INVALID",
      `the data store cannot be read: ${why}`,
      { isRefused: true },
      { cause: error },
    );
  }
}
