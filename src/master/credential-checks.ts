/**
 * Whether a user's password is right, as its backend says. So many are asked at once and so many wait, the rest is refused: guessing passwords
 * cannot take the master's time. A refusal takes about a second, so that its time tells nothing and guessing is slow.
 */
import { randomInt } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { credentialChecksMax, credentialChecksWaitingMax, refusedCredentialMs } from "../limits.ts";
import type { CredentialResult, CredentialTask } from "../workers/credentials/contract.ts";
import type { LanePool } from "../workers/lane-pool.ts";
import { RefusalLog } from "./refusal-log.ts";

export type CredentialChecksOptions = {
  readonly lane: Pick<LanePool, "run">;
  readonly logger: Pick<Logger, "warn" | "error">;
  /** Until a refusal goes out. */
  readonly wait?: (ms: number) => Promise<unknown>;
};

export class CredentialChecks {
  readonly counters = { authentic: 0, refused: 0, dropped: 0 };
  readonly #options: CredentialChecksOptions;
  readonly #waiting: (() => void)[] = [];
  readonly #refusals: RefusalLog;
  #running = 0;

  constructor(options: CredentialChecksOptions) {
    this.#options = options;
    this.#refusals = new RefusalLog(options.logger, Date.now);
  }

  /** @returns undefined if the user is not who he says */
  async check(task: CredentialTask): Promise<CredentialResult | undefined> {
    if (this.#running >= credentialChecksMax) {
      if (this.#waiting.length >= credentialChecksWaitingMax) {
        this.counters.dropped += 1;
        this.#refusals.note({ eauth: task.eauth }, "too many authentications wait: one was refused unasked");
        return undefined;
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#running += 1;
    }
    try {
      return await this.#ask(task);
    } finally {
      // Whoever waits longest takes the place over.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  async #ask(task: CredentialTask): Promise<CredentialResult | undefined> {
    const { lane, logger, wait = delay } = this.#options;
    const { eauth, username } = task;
    const startedMs = performance.now();
    let fault: string | undefined;
    try {
      const result = await lane.run<CredentialResult>(task);
      if (result.isAuthentic) {
        this.counters.authentic += 1;
        return result;
      }
      fault = result.fault;
    } catch (error) {
      fault = (error as Error).message;
    }
    this.counters.refused += 1;
    if (fault === undefined) logger.warn({ eauth, username }, 'Authentication failure of type "eauth" occurred.');
    else logger.error({ eauth, username, fault }, "an eauth system could not say whether a user is who he says");
    const { min, max } = refusedCredentialMs;
    await wait(Math.max(0, randomInt(min, max) - (performance.now() - startedMs)));
    return undefined;
  }
}
