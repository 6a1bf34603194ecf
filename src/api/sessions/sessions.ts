/**
 * HTTP sessions: an id that stands for a token of the master. A file for each keeps sessions over restarts. Its name is a digest of the id and its
 * content is encrypted under the id, so that the files alone open no session.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { ConfigValue } from "../../config/yaml/values.ts";
import { SaltworksError } from "../../errors.ts";
import {
  apiIdTokenBytesMax,
  apiSessionBytesMax,
  apiSessionsInMemoryMax,
  apiSessionsMax,
  apiSessionsOfUserMax,
} from "../../limits.ts";
import { digestOf, ExpiringFiles } from "../../store/secrets/expiring-files.ts";
import { NamesOfUsers } from "../../store/secrets/names-of-users.ts";

/** Times are Unix times in seconds, as the master gives them. */
export type Session = {
  readonly token: string;
  readonly user: string;
  readonly eauth: string;
  readonly start: number;
  readonly expire: number;
  readonly perms: ConfigValue;
  /** Of a login in a browser at an OpenID provider that the logout ends there, too. Its token names the login to the provider. */
  readonly atProvider?: { readonly idToken?: string };
};

const idBytes = 20;
const idForm = /^[0-9a-f]{40}$/;
const nonceBytes = 12;
const tagBytes = 16;

function keyOf(id: string): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", id, "", "saltworks http session", 32));
}

function ownerOf({ eauth, user }: Session): string {
  return `${eauth} ${user}`;
}

export class Sessions {
  readonly counters = { opened: 0, closed: 0, refused: 0, displaced: 0, unreadable: 0, idTokensLeftOut: 0 };
  readonly #files: ExpiringFiles;
  readonly #nowMs: () => number;
  /** By the name of the file; the least recently used first. */
  readonly #known = new Map<string, Session>();
  /** Names of files by id, so that a session's id is not digested in each request. Not more than `#known`. */
  readonly #names = new Map<string, string>();
  readonly #ofUsers = new NamesOfUsers();

  /** Makes a missing `directory`. */
  constructor(directory: string, nowMs: () => number = Date.now) {
    this.#files = new ExpiringFiles({ directory, ending: "", fileBytesMax: apiSessionBytesMax });
    this.#nowMs = nowMs;
  }

  get count(): number {
    return this.#files.count;
  }

  /** @returns the id. @throws SaltworksError QUEUE_FULL, STORE_FAILED */
  open(begun: Session): string {
    if (this.count >= apiSessionsMax) {
      this.counters.refused += 1;
      throw new SaltworksError("QUEUE_FULL", `there are ${apiSessionsMax} sessions already`);
    }
    const session = this.#bounded(begun);
    const id = randomBytes(idBytes).toString("hex");
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv("aes-256-gcm", keyOf(id), nonce);
    const sealed = Buffer.concat([cipher.update(JSON.stringify(session)), cipher.final()]);
    try {
      const bytes = Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
      this.#files.write(digestOf(id), bytes, session.expire * 1_000);
    } catch (error) {
      throw new SaltworksError("STORE_FAILED", "a session could not be written", {}, { cause: error });
    }
    this.counters.opened += 1;
    this.#remember(digestOf(id), session);
    this.#boundUser(session);
    return id;
  }

  /** Undefined for an unknown or expired id. @throws SaltworksError STORE_FAILED */
  find(id: string): Session | undefined {
    if (!idForm.test(id)) return undefined;
    const name = this.#names.get(id) ?? digestOf(id);
    const session = this.#known.get(name) ?? this.#read(id, name);
    if (session === undefined || session.expire * 1_000 <= this.#nowMs()) return undefined;
    if (this.#names.size >= apiSessionsInMemoryMax) this.#names.clear();
    this.#names.set(id, name);
    this.#remember(name, session);
    return session;
  }

  close(id: string): void {
    if (!idForm.test(id)) return;
    const name = digestOf(id);
    const session = this.#known.get(name);
    if (session !== undefined) this.#ofUsers.drop(ownerOf(session), name);
    this.#known.delete(name);
    this.#names.delete(id);
    if (this.#files.remove(name)) this.counters.closed += 1;
  }

  /** Removes expired sessions in short steps. */
  async sweep(): Promise<void> {
    this.counters.closed += await this.#files.sweep(this.#nowMs());
    for (const [name, session] of this.#known) if (session.expire * 1_000 <= this.#nowMs()) this.#known.delete(name);
    this.#ofUsers.prune((name) => this.#files.isKnown(name));
  }

  #bounded(session: Session): Session {
    if ((session.atProvider?.idToken?.length ?? 0) <= apiIdTokenBytesMax) return session;
    this.counters.idTokensLeftOut += 1;
    return { ...session, atProvider: {} };
  }

  /** A program that logs in for each call and never out takes no places of other users. */
  #boundUser(session: Session): void {
    const oldest = this.#ofUsers.takeOver(ownerOf(session), apiSessionsOfUserMax, (name) => this.#files.isKnown(name));
    if (oldest === undefined) return;
    this.#known.delete(oldest);
    if (this.#files.remove(oldest)) this.counters.displaced += 1;
  }

  #remember(name: string, session: Session): void {
    this.#ofUsers.note(ownerOf(session), name);
    this.#known.delete(name);
    this.#known.set(name, session);
    if (this.#known.size <= apiSessionsInMemoryMax) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
  }

  #bytesOf(name: string): Buffer | undefined {
    try {
      return this.#files.read(name);
    } catch (error) {
      throw new SaltworksError("STORE_FAILED", "a session could not be read", {}, { cause: error });
    }
  }

  #read(id: string, name: string): Session | undefined {
    const bytes = this.#bytesOf(name);
    if (bytes === undefined) return undefined;
    try {
      const decipher = createDecipheriv("aes-256-gcm", keyOf(id), bytes.subarray(0, nonceBytes), {
        authTagLength: tagBytes,
      });
      decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
      const opened = [decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()];
      return JSON.parse(Buffer.concat(opened).toString()) as Session;
    } catch {
      this.counters.unreadable += 1;
      return undefined;
    }
  }
}
