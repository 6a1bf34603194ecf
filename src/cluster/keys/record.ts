/**
 * What each id's keys and its entry in the bucket were when they were last in step. At the next start it tells a change made here from one made by
 * another member. A file in the cache directory, written whole some time after a change; a journal beside it has the changes since then.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir, open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { pack, unpack } from "msgpackr";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { keyRecordSaveMs, keysLostMin } from "../../limits.ts";
import { noKeys } from "./entry.ts";
import { type RecordChange, RecordJournal } from "./journal.ts";
import { syncFolder } from "./local-keys.ts";

const version = 1;
const hashBytes = 32;
const fileMode = 0o600;
const folderMode = 0o700;
/** Saves take at most this part of the time, because each writes the whole record. */
const saveShare = 0.02;

/** `revision`: of the entry in the bucket. `digest`: `noKeys` once the key was deleted; the revision is then that of the mark. */
export type Step = { readonly revision: number; readonly digest: string };
const never: Step = { revision: 0, digest: noKeys };
type Stored = {
  readonly v: number;
  readonly bucket: string;
  readonly ids: string[];
  readonly revisions: number[];
  readonly digests: string[];
};

export type RecordOptions = {
  readonly file: string;
  /** Called before each save: what the record says must be on disk before it. */
  readonly beforeSave: () => Promise<void>;
  readonly onFault: (error: unknown) => void;
};

export class KeyRecord {
  /** Which bucket the revisions belong to: one that was made anew counts from 1. */
  bucket = "";
  /** Why the file cannot be used. */
  #damage: string | undefined;
  readonly #options: RecordOptions;
  readonly #journal: RecordJournal;
  readonly #steps = new Map<string, Step>();
  #timer: NodeJS.Timeout | undefined;
  #saving: Promise<void> = Promise.resolve();
  #lastSaveMs = 0;
  #isChanged = false;
  #isClosed = false;

  constructor(options: RecordOptions) {
    this.#options = options;
    this.#journal = new RecordJournal(`${options.file}.journal`, options.onFault);
    const hash = this.#load();
    for (const change of this.#journal.load(hash)) this.#replay(change);
  }

  /** Revision 0 and `noKeys` for an id that was never in step. */
  step(id: string): Step {
    return this.#steps.get(id) ?? never;
  }

  set(id: string, step: Step): void {
    this.#steps.set(id, step);
    this.#noteChanged(["set", id, step.revision, step.digest]);
  }

  delete(id: string): void {
    if (this.#steps.delete(id)) this.#noteChanged(["delete", id]);
  }

  ids(): string[] {
    return [...this.#steps.keys()];
  }

  /** Ids that had a key. */
  *keptIds(): Iterable<string> {
    for (const [id, { digest }] of this.#steps) if (digest !== noKeys) yield id;
  }

  get keptCount(): number {
    return [...this.keptIds()].length;
  }

  /**
   * Why the record says nothing about a bucket and the directories; `new` without a record. `areKeysLost`: the directories hold no key at all, which
   * is rather a lost disk than deletions.
   */
  unfitFor(bucket: string, lastRevision: number, areKeysLost: boolean): string | undefined {
    const damage = this.#damage;
    this.#damage = undefined;
    if (damage !== undefined) return `the record of keys in step is damaged (${damage})`;
    if (this.bucket === "") return "new";
    if (this.bucket !== bucket || this.#highestRevision() > lastRevision)
      return "the cluster's minion keys were made anew since this member was in step";
    if (areKeysLost && this.keptCount >= keysLostMin) return "the key directories are missing or empty";
    return undefined;
  }

  #highestRevision(): number {
    let highest = 0;
    for (const { revision } of this.#steps.values()) highest = Math.max(highest, revision);
    return highest;
  }

  /** From now on the revisions are those of this bucket. */
  describe(bucket: string): void {
    if (this.bucket === bucket) return;
    this.bucket = bucket;
    this.#noteChanged(["bucket", bucket]);
  }

  /** Forgets all, for a bucket that it does not describe. It describes none until `describe`. */
  begin(): void {
    this.#steps.clear();
    this.bucket = "";
    this.#noteChanged(["begin"]);
  }

  /** Saves what has changed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#saving;
    if (this.#isChanged) await this.#save();
    this.#journal.close();
  }

  #noteChanged(change: RecordChange): void {
    this.#journal.append(change);
    this.#saveSoon();
  }

  #replay(change: RecordChange): void {
    const [kind, name = "", revision, digest] = change;
    if (kind === "begin") this.#steps.clear();
    if (kind === "begin" || kind === "bucket") this.bucket = name;
    if (kind === "delete") this.#steps.delete(name);
    if (kind === "set" && revision !== undefined && digest !== undefined) this.#steps.set(name, { revision, digest });
    this.#isChanged = true;
  }

  #saveSoon(): void {
    this.#isChanged = true;
    if (this.#timer !== undefined || this.#isClosed) return;
    const delayMs = Math.max(keyRecordSaveMs, this.#lastSaveMs / saveShare);
    this.#timer = setTimeout(() => {
      this.#saving = this.#save();
    }, delayMs);
    this.#timer.unref();
  }

  async #save(): Promise<void> {
    const startMs = performance.now();
    this.#isChanged = false;
    try {
      const { bytes, hash } = this.#pack();
      this.#journal.noteSaving(hash);
      await this.#options.beforeSave();
      await replaceSynced(this.#options.file, bytes);
      this.#journal.noteSaved(hash);
    } catch (error) {
      this.#isChanged = true;
      this.#options.onFault(error);
    }
    this.#lastSaveMs = performance.now() - startMs;
    this.#timer = undefined;
    if (this.#isChanged) this.#saveSoon();
  }

  #pack(): { readonly bytes: Buffer; readonly hash: string } {
    const steps = [...this.#steps.values()];
    const stored: Stored = {
      v: version,
      bucket: this.bucket,
      ids: this.ids(),
      revisions: steps.map(({ revision }) => revision),
      digests: steps.map(({ digest }) => digest),
    };
    const body = pack(stored);
    const hash = hashOf(body);
    return { bytes: Buffer.concat([hash, body]), hash: hash.toString("hex") };
  }

  /** @returns the record's hash; empty if there is none that can be used */
  #load(): string {
    try {
      const bytes = readFileSync(this.#options.file);
      const body = bytes.subarray(hashBytes);
      if (bytes.byteLength <= hashBytes || !timingSafeEqual(bytes.subarray(0, hashBytes), hashOf(body)))
        throw new Error("its bytes are not what was written");
      const stored = unpack(body) as Stored;
      if (stored.v !== version) throw new Error(`it has version ${stored.v}`);
      stored.ids.forEach((id, index) => {
        const [revision, digest] = [stored.revisions[index], stored.digests[index]];
        if (revision !== undefined && digest !== undefined) this.#steps.set(id, { revision, digest });
      });
      this.bucket = stored.bucket;
      return bytes.subarray(0, hashBytes).toString("hex");
    } catch (error) {
      if (hasCodeIn(error, "ENOENT", "ENOTDIR")) return "";
      this.#damage = error instanceof Error ? error.message : String(error);
      return "damaged";
    }
  }
}

function hashOf(body: Uint8Array): Buffer {
  return createHash("sha256").update(body).digest();
}

/** Replaces a file durably without blocking the thread. One record has one writer, so the temporary name is fixed. */
async function replaceSynced(file: string, bytes: Uint8Array): Promise<void> {
  const folder = dirname(file);
  await mkdir(folder, { recursive: true, mode: folderMode });
  const temporary = `${file}.new`;
  const handle = await open(temporary, "w", fileMode);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
  await syncFolder(folder);
}
