/**
 * Which minions' returns of a job stand in Salt's layout: the folders in the job's directory. It is read again only when it has changed, so
 * that repeated questions about a large job cost one look each.
 */
import { statSync } from "node:fs";
import { entriesIfThere } from "../../config/files/missing.ts";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { storeFailed } from "../disk/store-error.ts";
import { compareIds } from "../jobs/job-cache.ts";
import { jobDirectory } from "./job-files.ts";
import type { LocalCacheOptions } from "./local-cache.ts";

/** Jobs whose folders are remembered: commands that follow a job ask again and again. */
const jobsKnownMax = 4;
/** A directory that changed within this time may change once more at the same file time, and a folder in it may be empty yet, milliseconds. */
const settledMs = 2_000;

type Listing = { readonly ids: ReadonlySet<string>; readonly mtimeMs: number; readonly isSettled: boolean };

const nothing: Listing = { ids: new Set(), mtimeMs: 0, isSettled: true };

export class ReturnFolders {
  readonly #o: LocalCacheOptions;
  /** The job asked for longest ago comes first. */
  readonly #known = new Map<string, Listing>();
  /** Answers all questions of one turn, because a caller asks for thousands of minions. */
  #now: { readonly jid: string; readonly listing: Listing } | undefined;

  constructor(o: LocalCacheOptions) {
    this.#o = o;
  }

  /** Ids of minions, in the order of `compareIds`: sorted once, not once a page. @throws SaltworksError STORE_FAILED */
  of(jid: string): ReadonlySet<string> {
    if (this.#now?.jid === jid) return this.#now.listing.ids;
    const listing = this.#look(jid);
    this.#known.delete(jid);
    this.#known.set(jid, listing);
    const [first] = this.#known.keys();
    if (this.#known.size > jobsKnownMax && first !== undefined) this.#known.delete(first);
    this.#now = { jid, listing };
    queueMicrotask(() => {
      this.#now = undefined;
    });
    return listing.ids;
  }

  #look(jid: string): Listing {
    const directory = jobDirectory(this.#o.cachedir, this.#o.hashType, jid);
    try {
      const known = this.#known.get(jid);
      const mtimeMs = changedMs(directory);
      if (mtimeMs === undefined) return nothing;
      if (known?.isSettled === true && known.mtimeMs === mtimeMs) return known;
      const isSettled = Math.abs(Date.now() - mtimeMs) > settledMs;
      const folders = entriesIfThere(directory).filter((entry) => entry.isDirectory() && !entry.name.startsWith("."));
      return { ids: new Set(folders.map(({ name }) => name).sort(compareIds)), mtimeMs, isSettled };
    } catch (error) {
      throw storeFailed(`${directory} cannot be read`, error);
    }
  }
}

function changedMs(directory: string): number | undefined {
  try {
    return statSync(directory, { throwIfNoEntry: false })?.mtimeMs;
  } catch (error) {
    if (hasCodeIn(error, "ENOTDIR")) return undefined;
    throw error;
  }
}
