/**
 * The lower masters (syndics) that have reached this master: their markers on disk, which Salt's command line reads, and the minions that they add
 * to jobs. docs/syndic.md.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";
import { namesIfReadable } from "../../config/files/missing.ts";
import type { MasterConfig } from "../../config/load.ts";
import type { BatchResult } from "../../workers/messages/batch.ts";
import type { Fire } from "../publish/publisher.ts";

export type SyndicsOptions = {
  readonly directory: string;
  readonly isAccepted: (id: string) => boolean;
  readonly logger: Pick<Logger, "info" | "error">;
};

const directoryMode = 0o750;
const fileMode = 0o640;

export class Syndics {
  readonly #options: SyndicsOptions;
  readonly #ids = new Set<string>();

  constructor(options: SyndicsOptions) {
    this.#options = options;
    for (const id of namesIfReadable(options.directory)) if (options.isAccepted(id)) this.#ids.add(id);
  }

  get count(): number {
    return this.#ids.size;
  }

  /** At most as many as there are accepted keys. */
  get ids(): ReadonlySet<string> {
    return this.#ids;
  }

  noteSeen(id: string): void {
    if (this.#ids.has(id) || !this.#options.isAccepted(id)) return;
    this.#ids.add(id);
    this.#options.logger.info({ id }, "a syndic has come: jobs also wait for the minions of its master");
    this.#attempt(() => {
      mkdirSync(this.#options.directory, { recursive: true, mode: directoryMode });
      writeFileSync(join(this.#options.directory, id), "", { mode: fileMode });
    });
  }

  /** Call it when the key of an id was removed. */
  forget(id: string): void {
    if (this.#ids.delete(id)) this.#attempt(() => rmSync(join(this.#options.directory, id), { force: true }));
  }

  /** Without its marker a syndic counts as a silent minion in Salt's command line, and is seen again after a restart. */
  #attempt(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#options.logger.error({ err: error }, "the marker of a syndic cannot be changed");
    }
  }
}

/** What a master with `order_masters` knows of lower masters; undefined without it. */
export function syndicsOf(parts: {
  readonly config: Pick<MasterConfig, "order_masters" | "cachedir">;
  readonly start: { readonly accepted: ReadonlySet<string> };
  readonly logger: Logger;
}): Syndics | undefined {
  const { config, start, logger } = parts;
  if (!config.order_masters) return undefined;
  return new Syndics({
    directory: join(config.cachedir, "syndics"),
    isAccepted: (id) => start.accepted.has(id),
    logger,
  });
}

/** Takes what the requests of a batch tell of lower masters. Call it before the batch's returns are counted. */
export function noteBelow(
  { syndics, expected }: Pick<BatchResult, "syndics" | "expected">,
  known: Pick<Syndics, "noteSeen"> | undefined,
  tracker: { expectMore(jid: string, minions: readonly string[]): readonly string[] },
  fire: Fire,
): void {
  if (known === undefined) return;
  for (const id of syndics) known.noteSeen(id);
  for (const { jid, minions } of expected) {
    const added = tracker.expectMore(jid, minions);
    if (added.length > 0) fire(`saltworks/job/${jid}/new`, { jid, minions: added });
  }
}
