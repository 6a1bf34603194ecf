/** Fetches git repositories of files and pillars: at the start, and then each at its interval. A fetch that is under way is not doubled. */
import type { Logger } from "pino";
import type { GitRemote, GitRole } from "../../git/remotes.ts";
import type { GitResult, GitTask } from "../../workers/messages/lanes.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";

export type GitUpdatesOptions = {
  readonly remotes: readonly GitRemote[];
  readonly lane: Pick<LanePool, "run" | "close">;
  readonly logger: Logger;
  /** Called after each round of a role's remotes. */
  readonly onFetched?: (role: GitRole, isChanged: boolean) => void;
};

type Round = { readonly role: GitRole; readonly intervalMs: number; readonly directories: readonly string[] };

export class GitUpdates {
  /** `fetched`: rounds; `changed`: remotes that brought something new; `failed`: rounds in which a remote failed; `locked`: remotes that were locked. */
  readonly counters = { fetched: 0, changed: 0, failed: 0, locked: 0 };
  readonly #options: GitUpdatesOptions;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #underWay = new Set<Round>();
  #isClosed = false;

  constructor(options: GitUpdatesOptions) {
    this.#options = options;
  }

  start(): void {
    for (const round of roundsOf(this.#options.remotes)) {
      this.#timers.push(setInterval(() => void this.#run(round), round.intervalMs));
      void this.#run(round);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const timer of this.#timers) clearInterval(timer);
    await this.#options.lane.close();
  }

  async #run(round: Round): Promise<void> {
    if (this.#isClosed || this.#underWay.has(round)) return;
    this.#underWay.add(round);
    const { lane, logger, onFetched } = this.#options;
    try {
      const task: GitTask = { directories: round.directories };
      const { changed, locked, failure } = await lane.run<GitResult>(task);
      this.counters.fetched += 1;
      this.counters.changed += changed.length;
      this.counters.locked += locked.length;
      if (changed.length > 0) logger.info({ remotes: changed }, "git repositories have brought something new");
      if (locked.length > 0) logger.warn({ remotes: locked }, "git repositories are locked, and were not fetched");
      if (failure !== undefined) this.#fail(failure);
      onFetched?.(round.role, changed.length > 0);
    } catch (error) {
      if (!this.#isClosed) this.#fail((error as Error).message);
    } finally {
      this.#underWay.delete(round);
    }
  }

  #fail(reason: string): void {
    this.counters.failed += 1;
    this.#options.logger.error(
      { reason },
      "git repositories could not be fetched; what they had before is still served",
    );
  }
}

/** Remotes of one role with the same interval are fetched together. */
function roundsOf(remotes: readonly GitRemote[]): Round[] {
  const rounds = new Map<string, Round>();
  for (const { role, updateIntervalMs: intervalMs, directory } of remotes) {
    const key = `${role} ${intervalMs}`;
    const directories = [...(rounds.get(key)?.directories ?? []), directory];
    rounds.set(key, { role, intervalMs, directories });
  }
  return [...rounds.values()];
}
