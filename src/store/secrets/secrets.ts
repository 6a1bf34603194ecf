/**
 * Secrets that survive a restart: the AES key that seals publications, the former key during its grace period, and the publish serial. Serials are
 * reserved on disk in blocks before use, so that none repeats after a crash: minions drop a publication whose serial is not greater than the last.
 */
import { readFileSync } from "node:fs";
import { pack, unpack } from "msgpackr";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { generateKeyString } from "../../crypto/crypticle.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import { serialBlockCount } from "../../limits.ts";
import { replaceDurably } from "../disk/durable-file.ts";
import type { SecretBox } from "./sealed.ts";

export { takeOverSessions } from "./salt-sessions.ts";

const mode = 0o600;
const recordName = "master-secrets";

export type FormerKey = { readonly key: string; readonly untilMs: number };
/** The AES key in use, and the one before it. */
export type PresentKeys = {
  readonly aes: string;
  readonly former: FormerKey | undefined;
  /** When `aes` was made. */
  readonly createdMs: number;
};
/** Why new keys were made. `first-start`: the file was missing. `other-master-key`: it was sealed under another master key, or is damaged. */
export type FreshReason = "first-start" | "other-master-key";

export interface MasterSecrets extends PresentKeys {
  /** Whether the master started with new keys. Then every minion authenticates again. */
  readonly isFresh: boolean;
  readonly freshReason: FreshReason | undefined;
  /** The next serial. It starts at 1 for each key and is greater than any earlier one under this key, also after a crash. */
  nextSerial(): number;
  /** The keys of a rotation to `aes`, agreed with the other members of a cluster. They are not in use before `adopt`. */
  agree(nowMs: number, graceMs: number, aes: string): Promise<PresentKeys>;
  /** Uses keys that `agree` gave or another member of the cluster made. Returns when they are on disk. */
  adopt(keys: PresentKeys): void;
  /** Releases reserved serials that were not used. */
  close(): void;
  /** Notes a serial that the cluster gave, so that this master's own ones are above it if it leaves the cluster. */
  noteSerial(serial: number): void;
}

type Stored = {
  readonly aes: string;
  readonly former?: FormerKey;
  readonly createdMs: number;
  /** Serials up to this one may have been used. */
  readonly serialReserved: number;
};

class FileMasterSecrets implements MasterSecrets {
  readonly freshReason: FreshReason | undefined;
  readonly #file: string;
  readonly #box: SecretBox;
  #stored: Stored;
  #serial: number;

  constructor(file: string, box: SecretBox, stored: Stored, freshReason: FreshReason | undefined) {
    this.#file = file;
    this.#box = box;
    this.#stored = stored;
    this.#serial = stored.serialReserved;
    this.freshReason = freshReason;
  }

  get aes(): string {
    return this.#stored.aes;
  }
  get former(): FormerKey | undefined {
    return this.#stored.former;
  }
  get createdMs(): number {
    return this.#stored.createdMs;
  }
  get isFresh(): boolean {
    return this.freshReason !== undefined;
  }

  nextSerial(): number {
    if (this.#serial >= this.#stored.serialReserved) {
      this.store({ ...this.#stored, serialReserved: this.#serial + serialBlockCount });
    }
    this.#serial += 1;
    return this.#serial;
  }

  async agree(nowMs: number, graceMs: number, aes: string): Promise<PresentKeys> {
    return { aes, former: { key: this.#stored.aes, untilMs: nowMs + graceMs }, createdMs: nowMs };
  }

  adopt({ aes, former, createdMs }: PresentKeys): void {
    if (aes === this.#stored.aes) return;
    this.store({ aes, ...(former && { former }), createdMs, serialReserved: serialBlockCount });
    this.#serial = 0;
  }

  close(): void {
    if (this.#serial < this.#stored.serialReserved) this.store({ ...this.#stored, serialReserved: this.#serial });
  }

  noteSerial(serial: number): void {
    if (serial <= this.#serial) return;
    if (serial > this.#stored.serialReserved)
      this.store({ ...this.#stored, serialReserved: serial + serialBlockCount });
    this.#serial = serial;
  }

  /** Writes the record to disk, then uses it. */
  store(stored: Stored): void {
    try {
      replaceDurably(this.#file, this.#box.seal(recordName, pack(stored)), mode);
    } catch (error) {
      throw new SaltworksError(
        "STORE_FAILED",
        `${this.#file} cannot be written`,
        { file: this.#file },
        { cause: error },
      );
    }
    this.#stored = stored;
  }
}

/** Makes a new key. The present one becomes the former. Resolves when the new key is on disk and in use. */
export async function rotateSecrets(secrets: MasterSecrets, nowMs: number, graceMs: number): Promise<void> {
  secrets.adopt(await secrets.agree(nowMs, graceMs, generateKeyString()));
}

function readStored(file: string, box: SecretBox): Stored | FreshReason {
  let sealed: Buffer;
  try {
    sealed = readFileSync(file);
  } catch (error) {
    if (hasCodeIn(error, "ENOENT")) return "first-start";
    throw new SaltworksError("STORE_FAILED", `${file} cannot be read`, { file }, { cause: error });
  }
  try {
    return unpack(box.open(recordName, sealed)) as Stored;
  } catch (error) {
    if (hasCode(error, "STORE_SEAL_BROKEN")) return "other-master-key";
    throw error;
  }
}

/** Checks that the sealed file opens. @throws SaltworksError STORE_SEAL_BROKEN, or the system's error if the file cannot be read */
export function readSecrets(file: string, box: SecretBox): void {
  box.open(recordName, readFileSync(file));
}

/** Reads the sealed file. If that fails because of a `FreshReason`, makes new keys and stores them. */
export function openMasterSecrets(o: { readonly file: string; readonly box: SecretBox }): MasterSecrets {
  const stored = readStored(o.file, o.box);
  if (typeof stored !== "string") return new FileMasterSecrets(o.file, o.box, stored, undefined);
  const fresh: Stored = { aes: generateKeyString(), createdMs: Date.now(), serialReserved: 0 };
  const secrets = new FileMasterSecrets(o.file, o.box, fresh, stored);
  secrets.store(fresh);
  return secrets;
}
