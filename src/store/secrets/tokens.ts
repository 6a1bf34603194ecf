/**
 * Tokens of externally authenticated users. A token's file is named after its digest and does not hold the token, so that a copy of the directory
 * opens nothing. Files in the form of Salt's localfs tokens, which older releases also made, are rewritten in this form when they are used or swept.
 */
import { createHash, randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { equalSecrets } from "../../crypto/compare.ts";
import { SaltworksError } from "../../errors.ts";
import { tokenFileBytesMax, tokensMax, tokensOfUserMax } from "../../limits.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import { type Encodable, Float, type ValueMap } from "../../wire/values.ts";
import { digestOf, ExpiringFiles } from "./expiring-files.ts";
import { NamesOfUsers } from "./names-of-users.ts";

const randomSourceBytes = 512;
/** What the names of our files end with; Salt's have no ending. */
export const tokenFileEnding = ".token";
/** A token is a digest in hex. Other names are refused, so that none leads out of the directory. */
const tokenForm = /^[0-9a-f]{32,128}$/;
const fileForm = /^[0-9a-f]{64}\.token$/;
/** The field by which a file shows that it was not renamed. It is the digest of the token. */
const digestField = "digest";

/** The directory of tokens. */
export function tokenDirectory(cachedir: string): string {
  return join(cachedir, "tokens");
}

function removedDirectory(directory: string): string {
  return `${directory}-removed`;
}

/** Whether the token has a file. Does not check whether the token has expired. */
export function isTokenKept(directory: string, token: string): boolean {
  if (!tokenForm.test(token)) return false;
  return existsSync(join(directory, nameOf(token))) || existsSync(join(directory, token));
}

/** A token's file; without bytes: it was removed. `endMs`: when the token expires. */
export type TokenFile = { readonly name: string; readonly bytes: Uint8Array | undefined; readonly endMs: number };

export class Tokens {
  /** `converted`: tokens in Salt's form that were rewritten. `displaced`: gave way to newer ones of their user. */
  readonly counters = { made: 0, removed: 0, refused: 0, converted: 0, displaced: 0 };
  readonly #directory: string;
  readonly #hashType: string;
  readonly #files: ExpiringFiles;
  readonly #ofUsers = new NamesOfUsers();
  #onChanged: ((file: TokenFile) => void) | undefined;
  /** Names of tokens that were removed before their end, so that none comes back from another master. Undefined without a cluster. */
  readonly #removed: ExpiringFiles | undefined;

  /** Makes a missing `directory`. `isShared`: other masters have these tokens, too. */
  constructor(directory: string, hashType: string, isShared = false) {
    this.#directory = directory;
    this.#hashType = hashType;
    this.#files = new ExpiringFiles({
      directory,
      ending: tokenFileEnding,
      fileBytesMax: tokenFileBytesMax,
      endMsIn: (bytes) => endMs(keptIn(bytes)),
    });
    const removed = {
      directory: removedDirectory(directory),
      ending: tokenFileEnding,
      fileBytesMax: tokenFileBytesMax,
    };
    this.#removed = isShared ? new ExpiringFiles(removed) : undefined;
  }

  /** Number of tokens, expired ones included until a sweep. */
  get count(): number {
    return this.#files.count;
  }

  /** The most tokens of one user that were made or used since the start. */
  get mostOfUser(): number {
    return this.#ofUsers.most();
  }

  /**
   * Makes a token. A user with more than `tokensOfUserMax` loses the one that was not used for the longest time.
   *
   * @param fields in Salt's order; the token is appended
   * @throws SaltworksError QUEUE_FULL at `tokensMax` tokens, STORE_FAILED
   */
  make(fields: ReadonlyMap<string, Encodable>): Map<string, Encodable> {
    if (this.count >= tokensMax) {
      this.counters.refused += 1;
      throw new SaltworksError("QUEUE_FULL", `there are ${tokensMax} tokens already`, { tokensMax });
    }
    const token = createHash(this.#hashType).update(randomBytes(randomSourceBytes)).digest("hex");
    trying("a token could not be written", () => {
      this.#keep(token, fields);
      this.#boundUser(ownerOf(fields), nameOf(token));
    });
    this.counters.made += 1;
    return new Map(fields).set("token", token);
  }

  /** The fields of a valid token; undefined for an expired or unknown one. An expired token stays until a sweep: the clock may be wrong now. */
  read(token: string, nowMs: number): ValueMap | undefined {
    if (!tokenForm.test(token)) return undefined;
    return trying("a token could not be read", () => {
      const bytes =
        this.#files.read(nameOf(token)) ?? (this.#convert(token) ? this.#files.read(nameOf(token)) : undefined);
      const kept = bytes && keptIn(bytes);
      if (kept === undefined || !equalSecrets(String(kept.get(digestField)), digestOf(token))) return undefined;
      if (endMs(kept) <= nowMs) return undefined;
      kept.delete(digestField);
      this.#ofUsers.note(ownerOf(kept), nameOf(token));
      return kept.set("token", token);
    });
  }

  /** Removes a token. @returns false if it does not exist */
  remove(token: string): boolean {
    if (!tokenForm.test(token)) return false;
    return trying("a token could not be removed", () => {
      this.#convert(token);
      const isRemoved = this.#removeFile(nameOf(token));
      if (isRemoved) this.counters.removed += 1;
      return isRemoved;
    });
  }

  /** `onChanged` gets each file that is made or removed here from now on, but none that `receive` takes. */
  share(onChanged: ((file: TokenFile) => void) | undefined): void {
    this.#onChanged = onChanged;
  }

  /** The files in our form, and the names of removed tokens. */
  *files(): Generator<TokenFile> {
    for (const name of readdirSync(this.#directory)) {
      const bytes = fileForm.test(name) ? this.#files.read(name) : undefined;
      if (bytes !== undefined) yield { name, bytes, endMs: endMs(keptIn(bytes)) };
    }
    if (this.#removed === undefined) return;
    for (const name of readdirSync(removedDirectory(this.#directory))) {
      const bytes = fileForm.test(name) ? this.#removed.read(name) : undefined;
      if (bytes !== undefined) yield { name, bytes: undefined, endMs: Number(bytes) };
    }
  }

  /**
   * Takes the file of another master that shares its tokens, or removes the one that the other removed.
   *
   * @returns false if nothing changed: it is there already, has expired, or is not a token's file of this name
   * @throws SaltworksError STORE_FAILED
   */
  receive({ name, bytes }: Omit<TokenFile, "endMs">, nowMs: number): boolean {
    if (!fileForm.test(name)) return false;
    return trying("another member's token could not be written", () => {
      if (bytes === undefined) return this.#files.remove(name);
      if (this.#removed?.read(name) !== undefined) return false;
      const kept = keptIn(bytes);
      if (endMs(kept) <= nowMs || `${kept?.get(digestField)}${tokenFileEnding}` !== name) return false;
      if (this.#files.read(name)?.equals(bytes)) return false;
      this.#files.write(name, bytes, endMs(kept));
      return true;
    });
  }

  /** Removes expired and unreadable tokens, and rewrites those in Salt's form, in short steps. */
  async sweep(nowMs: number): Promise<void> {
    await this.#removed?.sweep(nowMs);
    this.counters.removed += await this.#files.sweep(nowMs, (name) => {
      if (tokenForm.test(name) && !this.#convert(name)) this.#files.remove(name);
    });
    this.#ofUsers.prune((name) => this.#files.isKnown(name));
  }

  /** A program that logs in for each call and never out fills neither the disk nor the places of other users. */
  #boundUser(owner: string, name: string): void {
    this.#ofUsers.note(owner, name);
    const oldest = this.#ofUsers.takeOver(owner, tokensOfUserMax, (one) => this.#files.isKnown(one));
    if (oldest !== undefined && this.#removeFile(oldest)) this.counters.displaced += 1;
  }

  #removeFile(name: string): boolean {
    const bytes = this.#removed && this.#files.read(name);
    const end = bytes === undefined ? 0 : endMs(keptIn(bytes));
    if (end > Date.now()) this.#removed?.write(name, Buffer.from(String(end)), end);
    const isRemoved = this.#files.remove(name);
    if (isRemoved) this.#onChanged?.({ name, bytes: undefined, endMs: end });
    return isRemoved;
  }

  #keep(token: string, fields: ReadonlyMap<string, Encodable>): void {
    const kept = new Map(fields).set(digestField, digestOf(token));
    const file = { name: nameOf(token), bytes: encode(kept, "bin"), endMs: endMs(kept) };
    this.#files.write(file.name, file.bytes, file.endMs);
    this.#onChanged?.(file);
  }

  /** Rewrites a token's file in Salt's form. @returns false if there is none, or its content is not that of the token */
  #convert(token: string): boolean {
    const file = join(this.#directory, token);
    let fields: ValueMap | undefined;
    try {
      fields = statSync(file).size > tokenFileBytesMax ? undefined : keptIn(readFileSync(file));
    } catch (error) {
      if (hasCodeIn(error, "ENOENT")) return false;
      throw error;
    }
    if (fields === undefined || !equalSecrets(String(fields.get("token")), token)) return false;
    fields.delete("token");
    this.#keep(token, fields as ReadonlyMap<string, Encodable>);
    rmSync(file, { force: true });
    this.counters.converted += 1;
    return true;
  }
}

function ownerOf(fields: ReadonlyMap<unknown, unknown>): string {
  return `${String(fields.get("eauth"))} ${String(fields.get("name"))}`;
}

function nameOf(token: string): string {
  return digestOf(token) + tokenFileEnding;
}

/** @throws SaltworksError STORE_FAILED instead of an error of the file system */
function trying<Result>(failure: string, step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    throw new SaltworksError("STORE_FAILED", failure, {}, { cause: error });
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

/** When a token ends; 0 for what is not a token. */
function endMs(kept: ReadonlyMap<unknown, unknown> | undefined): number {
  const expire = kept?.get("expire") ?? 0;
  const seconds = expire instanceof Float ? expire.value : Number(expire);
  return Number.isFinite(seconds) ? seconds * 1_000 : 0;
}
