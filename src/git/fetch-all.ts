/** Fetches several repositories side by side: one that is slow or fails holds up no other one. */
import { SaltworksError } from "../errors.ts";
import { gitFetchesAtOnceMax } from "../limits.ts";
import { shownId } from "./remotes.ts";
import type { Repository } from "./repository.ts";

export type Fetched = {
  /** Ids of remotes that have brought something new, and of remotes that another process fetches or keeps locked. */
  readonly changed: readonly string[];
  readonly locked: readonly string[];
  readonly failure: SaltworksError | undefined;
};

/** `failure`: names all that failed. It is not thrown, because the others have been fetched. */
export async function fetchAll(repositories: readonly Repository[]): Promise<Fetched> {
  const changed: string[] = [];
  const locked: string[] = [];
  const failures: string[] = [];
  const waiting = [...repositories];
  const fetchNext = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const id = shownId(next.remote.id);
      try {
        const isChanged = await next.fetch();
        if (isChanged === undefined) locked.push(id);
        else if (isChanged) changed.push(id);
      } catch (error) {
        failures.push(error instanceof Error ? error.message : String(error));
      }
    }
  };
  await Promise.all(Array.from({ length: gitFetchesAtOnceMax }, fetchNext));
  const failure = failures.length === 0 ? undefined : new SaltworksError("GIT_FAILED", failures.join("; "));
  return { changed, locked, failure };
}
