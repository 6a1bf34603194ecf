/** One list for clients out of the lists of several backends. As with a search for one file, the first backend that has a link decides its target. */
import { fileListsKeptMax } from "../limits.ts";
import type { FileBackend, FileLists } from "./backends/contract/backend.ts";

type Kept = { readonly parts: readonly FileLists[]; readonly merged: FileLists };

export class MergedLists {
  readonly #backends: readonly FileBackend[];
  /** By environment, oldest first. */
  readonly #kept = new Map<string, Kept>();

  constructor(backends: readonly FileBackend[]) {
    this.#backends = backends;
  }

  /** Returns the same object while no backend's lists change; undefined if no backend knows the environment. */
  async lists(environment: string): Promise<FileLists | undefined> {
    const [only] = this.#backends;
    if (this.#backends.length === 1) return await only?.lists(environment);
    const found = await Promise.all(this.#backends.map((backend) => backend.lists(environment)));
    const parts = found.filter((lists) => lists !== undefined);
    if (parts.length < 2) return parts[0];
    const kept = this.#kept.get(environment);
    if (kept?.parts.length === parts.length && kept.parts.every((part, index) => part === parts[index])) {
      return kept.merged;
    }
    const merged = mergedOf(parts);
    this.#keep(environment, { parts, merged });
    return merged;
  }

  #keep(environment: string, kept: Kept): void {
    this.#kept.delete(environment);
    this.#kept.set(environment, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > fileListsKeptMax && oldest !== undefined) this.#kept.delete(oldest);
  }
}

function mergedOf(parts: readonly FileLists[]): FileLists {
  const all = (name: "files" | "dirs" | "emptyDirs") => [...new Set(parts.flatMap((part) => part[name]))].sort();
  const links = new Map(parts.toReversed().flatMap((part) => [...part.links]));
  return { files: all("files"), dirs: all("dirs"), emptyDirs: all("emptyDirs"), links };
}
