/** The reactor's entries: finds the files of an event by its tag. Pure, except for the clock that the caller gives. */
import { reactorRestMs, reactorsMax } from "../../limits.ts";
import { compileGlob, type Glob } from "../../python/fnmatch.ts";
import type { ReactorEntry } from "./settings.ts";

/** `prefix`: the tag up to its first wildcard. */
type Entry = ReactorEntry & { readonly prefix: string; readonly glob: Glob; restsUntilMs: number };
/** Salt's answer to a change. */
type Changed = { readonly status: boolean; readonly comment: string };

export class ReactorEntries {
  #entries: Entry[];

  constructor(entries: readonly ReactorEntry[]) {
    this.#entries = entries.map(compiled);
  }

  /** The files of all matching entries, in the order of the entries. Entries that rest are left out. */
  filesOf(tag: string, nowMs: number): string[] {
    const files: string[] = [];
    for (const { prefix, glob, files: own, restsUntilMs } of this.#entries)
      if (tag.startsWith(prefix) && nowMs >= restsUntilMs && glob.matches(tag)) files.push(...own);
    return files;
  }

  /** Lets the entries that match the tag rest, because their files took too long. @returns their tags */
  rest(tag: string, nowMs: number): string[] {
    const resting = this.#entries.filter(({ prefix, glob }) => tag.startsWith(prefix) && glob.matches(tag));
    for (const entry of resting) entry.restsUntilMs = nowMs + reactorRestMs;
    return resting.map(({ tag: own }) => own);
  }

  list(): Readonly<Record<string, readonly string[]>>[] {
    return this.#entries.map(({ tag, files }) => ({ [tag]: files }));
  }

  add(tag: string, files: readonly string[]): Changed {
    if (this.#entries.some((entry) => entry.tag === tag)) return { status: false, comment: "Reactor already exists." };
    if (this.#entries.length >= reactorsMax)
      return { status: false, comment: `There are ${reactorsMax} reactors, the most that can be.` };
    this.#entries.push(compiled({ tag, files }));
    return { status: true, comment: "Reactor added." };
  }

  delete(tag: string): Changed {
    const place = this.#entries.findIndex((entry) => entry.tag === tag);
    if (place < 0) return { status: false, comment: "Reactor does not exists." };
    this.#entries = this.#entries.toSpliced(place, 1);
    return { status: true, comment: "Reactor deleted." };
  }
}

function compiled({ tag, files }: ReactorEntry): Entry {
  return { tag, files, prefix: /^[^*?[]*/.exec(tag)?.[0] ?? "", glob: compileGlob(tag), restsUntilMs: 0 };
}
