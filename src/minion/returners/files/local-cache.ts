/**
 * Returner `local_cache`: keeps the return under `<cachedir>/jobs` in the layout of Salt's job cache.
 * Source: Salt 3007's `local_cache`, docs/protocol.md.
 */
import { createHash } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isFile } from "../../../config/files/kinds.ts";
import { hasCodeIn } from "../../../config/files/system-errors.ts";
import { encode } from "../../../wire/msgpack.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";
import { describe } from "../../modules/declare/describe.ts";
import { memberOf, textOf } from "../contract/fields.ts";
import type { Passing, Returner } from "../contract/returner.ts";

/** Members of a return that the cache keeps, in Salt's order. */
const keptMembers = ["return", "retcode", "success"] as const;

export const localCacheReturner: Returner = {
  name: "local_cache",
  doc: describe(
    "Keeps the return in the minion's cache directory, in the layout of Salt's job cache.",
    "test.ping --return local_cache",
  ),
  returner: async ({ ret, config, log }: Passing) => {
    const digest = createHash(config.hash_type).update(textOf(ret, "jid")).digest("hex");
    const jobDirectory = join(config.cachedir, "jobs", digest.slice(0, 2), digest.slice(2));
    if (isFile(join(jobDirectory, "nocache"))) return;
    await mkdir(jobDirectory, { recursive: true });
    const directory = join(jobDirectory, textOf(ret, "id"));
    const packed = encode(keptOf(ret), "bin");
    if (!(await isMade(directory))) {
      const isSame = (await readIfWritten(join(directory, "return.p")))?.equals(packed) === true;
      log[isSame ? "debug" : "warn"](
        `local_cache: a second ${isSame ? "equal" : "different"} return of job ${textOf(ret, "jid")} is not kept`,
      );
      return;
    }
    await writeWhole(join(directory, "return.p"), packed);
    if (ret.has("out")) await writeWhole(join(directory, "out.p"), encode(memberOf(ret, "out"), "bin"));
  },
};

function keptOf(ret: ValueMap): ValueMap {
  const kept: ValueMap = new Map<Value, Value>();
  for (const name of keptMembers) if (ret.has(name)) kept.set(name, memberOf(ret, name));
  return kept;
}

/** Returns false if the directory was there before. */
async function isMade(directory: string): Promise<boolean> {
  try {
    await mkdir(directory);
    return true;
  } catch (error) {
    if (hasCodeIn(error, "EEXIST")) return false;
    throw error;
  }
}

async function readIfWritten(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if (hasCodeIn(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** Readers see the whole file or none. */
async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  const unfinished = `${path}.${process.pid}.new`;
  await writeFile(unfinished, bytes);
  await rename(unfinished, path);
}
