/**
 * HTTP sessions: an id that stands for a token of the master. A file for each keeps sessions over restarts. Its name is a digest of the id and its
 * content is encrypted under the id, so that the files alone open no session.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import type { ConfigValue } from "../../config/yaml/values.ts";
import { SaltworksError } from "../../errors.ts";
import { apiSessionBytesMax, apiSessionsInMemoryMax, apiSessionsMax } from "../../limits.ts";
import { replaceFile } from "../../store/disk/durable-file.ts";

/** Times are Unix times in seconds, as the master gives them. */
export type Session = {
  readonly token: string;
  readonly user: string;
  readonly eauth: string;
  readonly start: number;
  readonly expire: number;
  readonly perms: ConfigValue;
};

const idBytes = 20;
const idForm = /^[0-9a-f]{40}$/;
const nonceBytes = 12;
const tagBytes = 16;

function nameOf(id: string): string {
  return createHash("sha256").update(id).digest("hex");
}

function keyOf(id: string): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", id, "", "saltworks http session", 32));
}

/** False for a file that a logout has removed meanwhile. */
async function isOlder(file: string, nowMs: number): Promise<boolean> {
  try {
    return (await stat(file)).mtimeMs <= nowMs;
  } catch (error) {
    if (hasCodeIn(error, "ENOENT")) return false;
    throw error;
  }
}

export class Sessions {
  readonly counters = { opened: 0, closed: 0, refused: 0, unreadable: 0 };
  readonly #directory: string;
  readonly #nowMs: () => number;
  /** By the name of the file; the least recently used first. */
  readonly #known = new Map<string, Session>();
  #count: number;

  /** Makes a missing `directory`. */
  constructor(directory: string, nowMs: () => number = Date.now) {
    this.#directory = directory;
    this.#nowMs = nowMs;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    this.#count = readdirSync(directory).length;
  }

  get count(): number {
    return this.#count;
  }

  /** @returns the id. @throws SaltworksError QUEUE_FULL, STORE_FAILED */
  open(session: Session): string {
    if (this.#count >= apiSessionsMax) {
      this.counters.refused += 1;
      throw new SaltworksError("QUEUE_FULL", `there are ${apiSessionsMax} sessions already`);
    }
    const id = randomBytes(idBytes).toString("hex");
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv("aes-256-gcm", keyOf(id), nonce);
    const sealed = Buffer.concat([cipher.update(JSON.stringify(session)), cipher.final()]);
    const file = join(this.#directory, nameOf(id));
    try {
      replaceFile(file, Buffer.concat([nonce, cipher.getAuthTag(), sealed]), 0o600);
      // The sweep reads only the time of the file.
      utimesSync(file, session.expire, session.expire);
    } catch (error) {
      throw new SaltworksError("STORE_FAILED", "a session could not be written", {}, { cause: error });
    }
    this.#count += 1;
    this.counters.opened += 1;
    this.#remember(nameOf(id), session);
    return id;
  }

  /** Undefined for an unknown or expired id. @throws SaltworksError STORE_FAILED */
  find(id: string): Session | undefined {
    if (!idForm.test(id)) return undefined;
    const name = nameOf(id);
    const session = this.#known.get(name) ?? this.#read(id, name);
    if (session === undefined || session.expire * 1_000 <= this.#nowMs()) return undefined;
    this.#remember(name, session);
    return session;
  }

  async close(id: string): Promise<void> {
    if (!idForm.test(id)) return;
    const name = nameOf(id);
    this.#known.delete(name);
    await this.#removeFile(name);
  }

  /** Removes expired sessions one by one. */
  async sweep(): Promise<void> {
    const names = await readdir(this.#directory);
    this.#count = names.length;
    for (const name of names) {
      if (await isOlder(join(this.#directory, name), this.#nowMs())) await this.#removeFile(name);
    }
    for (const [name, session] of this.#known) if (session.expire * 1_000 <= this.#nowMs()) this.#known.delete(name);
  }

  async #removeFile(name: string): Promise<void> {
    await rm(join(this.#directory, name), { force: true });
    this.#count = Math.max(0, this.#count - 1);
    this.counters.closed += 1;
  }

  #remember(name: string, session: Session): void {
    this.#known.delete(name);
    this.#known.set(name, session);
    if (this.#known.size <= apiSessionsInMemoryMax) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
  }

  #read(id: string, name: string): Session | undefined {
    const file = join(this.#directory, name);
    try {
      if (statSync(file).size > apiSessionBytesMax) return undefined;
      const bytes = readFileSync(file);
      const decipher = createDecipheriv("aes-256-gcm", keyOf(id), bytes.subarray(0, nonceBytes), {
        authTagLength: tagBytes,
      });
      decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
      const opened = [decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()];
      return JSON.parse(Buffer.concat(opened).toString()) as Session;
    } catch (error) {
      if (hasCodeIn(error, "ENOENT")) return undefined;
      this.counters.unreadable += 1;
      return undefined;
    }
  }
}
