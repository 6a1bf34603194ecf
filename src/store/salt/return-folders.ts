/**
 * Lists the minions whose returns of a job are in Salt's layout: the folders in the job's directory. The directory is listed again only when it has
 * changed, so that repeated queries about a large job cost one `stat` each.
 */
import { statSync } from "node:fs";
import { entriesIfThere } from "../../config/files/missing.ts";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { storeFailed } from "../disk/store-error.ts";
import { compareIds, type ReturnPage } from "../jobs/job-cache.ts";
import { jobDirectory, type LocalCacheOptions } from "./job-files.ts";

/** Jobs whose folder list is cached. Commands that follow a job ask repeatedly. */
const jobsKnownMax = 4;
/** Milliseconds. A directory that changed within this time may change again without a new mtime, and a folder in it may still be empty. */
const settledMs = 2_000;

/** Ids of minions. `sorted`: in the order of `compareIds`, sorted once and not once per page. */
export type ReturnedIds = { readonly sorted: readonly string[]; readonly ids: ReadonlySet<string> };
type Listing = ReturnedIds & { readonly mtimeMs: number; readonly isSettled: boolean };

const nothing: Listing = { sorted: [], ids: new Set(), mtimeMs: 0, isSettled: true };

export class ReturnFolders {
  readonly #o: LocalCacheOptions;
  /** Listings by job id, least recently used first. */
  readonly #known = new Map<string, Listing>();

  constructor(o: LocalCacheOptions) {
    this.#o = o;
  }

  /** @throws SaltworksError STORE_FAILED */
  of(jid: string): ReturnedIds {
    const listing = this.#look(jid);
    this.#known.delete(jid);
    this.#known.set(jid, listing);
    const [first] = this.#known.keys();
    if (this.#known.size > jobsKnownMax && first !== undefined) this.#known.delete(first);
    return listing;
  }

  /** The minions on a page, sorted: those after `page.after`, of all or of `page.of`. @throws SaltworksError STORE_FAILED */
  onPage(jid: string, { after, of }: ReturnPage): readonly string[] {
    const { sorted, ids } = this.of(jid);
    const wanted = of === undefined ? sorted : [...new Set(of)].filter((id) => ids.has(id)).sort(compareIds);
    return after === undefined ? wanted : wanted.slice(placeAfter(wanted, after));
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
      const sorted = folders.map(({ name }) => name).sort(compareIds);
      return { sorted, ids: new Set(sorted), mtimeMs, isSettled };
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

/** Index of the first id that comes after `after`. */
function placeAfter(sorted: readonly string[], after: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareIds(sorted[middle] ?? "", after) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
