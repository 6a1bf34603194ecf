/**
 * Tokens of externally authenticated users: one file per token, named after it, readable only by the user that runs the master. The form is Salt's,
 * so tokens stay valid when our master replaces Salt's or the reverse, and Salt's API server reads ours. Source: Salt's localfs tokens.
 */
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { equalSecrets } from "../../crypto/compare.ts";
import { SaltworksError } from "../../errors.ts";
import { tokenFileBytesMax, tokensMax } from "../../limits.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import { type Encodable, Float, type ValueMap } from "../../wire/values.ts";
import { replaceFile } from "../disk/durable-file.ts";

const fileMode = 0o600;
const directoryMode = 0o700;
const randomSourceBytes = 512;
/** A token is a digest in hex. Other names are refused, so that none leads out of the directory. */
const tokenForm = /^[0-9a-f]{32,128}$/;

/** The directory of tokens. */
export function tokenDirectory(cachedir: string): string {
  return join(cachedir, "tokens");
}

/** Whether the token has a file. Does not check whether the token has expired. */
export function isTokenKept(directory: string, token: string): boolean {
  return tokenForm.test(token) && existsSync(join(directory, token));
}

export class Tokens {
  readonly counters = { made: 0, removed: 0, refused: 0 };
  readonly #directory: string;
  readonly #hashType: string;
  #count: number;

  /** Makes a missing `directory`. */
  constructor(directory: string, hashType: string) {
    this.#directory = directory;
    this.#hashType = hashType;
    mkdirSync(directory, { recursive: true, mode: directoryMode });
    this.#count = readdirSync(directory).length;
  }

  /** Number of tokens, expired ones included until a sweep. */
  get count(): number {
    return this.#count;
  }

  /**
   * Makes a token.
   *
   * @param fields in Salt's order; the token is appended
   * @throws SaltworksError QUEUE_FULL at `tokensMax` tokens, STORE_FAILED
   */
  make(fields: ReadonlyMap<string, Encodable>): Map<string, Encodable> {
    if (this.#count >= tokensMax) {
      this.counters.refused += 1;
      throw new SaltworksError("QUEUE_FULL", `there are ${tokensMax} tokens already`, { tokensMax });
    }
    const token = createHash(this.#hashType).update(randomBytes(randomSourceBytes)).digest("hex");
    const kept = new Map(fields).set("token", token);
    const file = join(this.#directory, token);
    try {
      replaceFile(file, encode(kept, "bin"), fileMode);
    } catch (error) {
      throw new SaltworksError("STORE_FAILED", "a token could not be written", {}, { cause: error });
    }
    this.#count += 1;
    this.counters.made += 1;
    return kept;
  }

  /** The fields of a valid token; undefined for an expired or unknown one. An expired token stays until a sweep: the clock may be wrong now. */
  read(token: string, nowMs: number): ValueMap | undefined {
    if (!tokenForm.test(token)) return undefined;
    const file = join(this.#directory, token);
    try {
      if (statSync(file).size > tokenFileBytesMax) return undefined;
      const kept = keptIn(readFileSync(file));
      if (kept !== undefined && isGood(kept, nowMs))
        return equalSecrets(String(kept.get("token")), token) ? kept : undefined;
    } catch (error) {
      if (hasCodeIn(error, "ENOENT")) return undefined;
      throw new SaltworksError("STORE_FAILED", "a token could not be read", {}, { cause: error });
    }
    return undefined;
  }

  /** Removes a token. @returns false if it does not exist */
  remove(token: string): boolean {
    if (!tokenForm.test(token)) return false;
    try {
      rmSync(join(this.#directory, token));
    } catch (error) {
      if (hasCodeIn(error, "ENOENT")) return false;
      throw new SaltworksError("STORE_FAILED", "a token could not be removed", {}, { cause: error });
    }
    this.#count -= 1;
    this.counters.removed += 1;
    return true;
  }

  /** Removes expired and unreadable tokens one by one; other work of the thread runs in between. */
  async sweep(nowMs: number): Promise<void> {
    const names = await readdir(this.#directory);
    let left = names.length;
    for (const name of names) {
      if (!tokenForm.test(name)) continue;
      const file = join(this.#directory, name);
      const bytes = await readFile(file).catch((error: unknown) => {
        if (hasCodeIn(error, "ENOENT")) return undefined;
        throw error;
      });
      const kept = bytes && keptIn(bytes);
      if (bytes !== undefined && kept !== undefined && isGood(kept, nowMs)) continue;
      await rm(file, { force: true });
      this.counters.removed += 1;
      left -= 1;
    }
    this.#count = left;
  }
}

/** The fields in a token's file; undefined if the file is not a token's. */
function keptIn(bytes: Uint8Array): ValueMap | undefined {
  try {
    const kept = decode(bytes);
    return kept instanceof Map ? kept : undefined;
  } catch (error) {
    if (error instanceof SaltworksError) return undefined;
    throw error;
  }
}

function isGood(kept: ValueMap, nowMs: number): boolean {
  const expire = kept.get("expire") ?? 0;
  return (expire instanceof Float ? expire.value : Number(expire)) * 1_000 >= nowMs;
}
