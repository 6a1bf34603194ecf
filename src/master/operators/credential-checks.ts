/**
 * Asks a backend whether a user's password is right. `credentialChecksMax` checks run at once and `credentialChecksWaitingMax` wait, round robin by
 * address and user, so that password guessing takes neither the master's time nor the places of other users. Wrong logins of one user and of one
 * address are bounded: further ones are refused unchecked. A refusal after a check takes about a second
 * (`refusedCredentialMs`), so that its time reveals nothing and guessing is slow.
 */
import { randomInt } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { credentialChecksMax, credentialChecksWaitingMax, refusedCredentialMs } from "../../limits.ts";
import { addressKey } from "../../transport/zmtp/address.ts";
import type { CredentialResult, CredentialTask } from "../../workers/credentials/contract/credential.ts";
import { Histogram, type HistogramSnapshot, secondsBounds } from "../../workers/measures/histogram.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";
import { FairQueue, type Waiter } from "../admission/fair-queue.ts";
import { RefusalLog } from "../log/refusal-log.ts";
import { withPythonLogins } from "../sidecar/credentials.ts";
import type { OpenSidecar } from "../sidecar/open.ts";
import { type GuessBound, GuessBounds, type Guesser } from "./guess-bounds.ts";

/**
 * `failed`: the backend failed to decide. `dropped`: the check lost its place in the full queue. `bounded`: refused unchecked after too many wrong
 * logins (`guess-bounds.ts`).
 */
export const checkOutcomes = ["authentic", "refused", "failed", "dropped", "bounded"] as const;
type CheckCounts = Record<(typeof checkOutcomes)[number], number>;

export type CredentialChecksOptions = {
  /** Enabled backends. Other names are neither asked nor counted, because callers can make names up. */
  readonly backends: readonly string[];
  readonly lane: Pick<LanePool, "run">;
  readonly logger: Pick<Logger, "warn" | "error">;
  /** Delays a refusal. */
  readonly wait?: (ms: number) => Promise<unknown>;
  /** A clock that is never set. */
  readonly nowMs?: () => number;
};

/** Makes the checks from the master's parts. */
export function credentialChecksOf(parts: {
  readonly config: MasterConfig;
  readonly credentials: LanePool;
  readonly sidecar: OpenSidecar | undefined;
  readonly logger: Logger;
}): CredentialChecks {
  const { config, credentials, sidecar, logger } = parts;
  const lane = withPythonLogins(config, credentials, sidecar?.calls);
  return new CredentialChecks({ lane, logger, backends: Object.keys(config.external_auth) });
}

/** `resolve`: true when its turn comes, false if its place went to another. */
type WaitingLogin = Waiter & { readonly resolve: (hasTurn: boolean) => void };

export class CredentialChecks {
  /** By backend; each starts at 0. */
  readonly counters: ReadonlyMap<string, CheckCounts>;
  /** Requests for backends that are not enabled. They share one counter, because callers can make names up. */
  notEnabled = 0;
  readonly #waitSeconds = new Histogram(secondsBounds);
  readonly #checkSeconds = new Histogram(secondsBounds);
  readonly #options: CredentialChecksOptions;
  readonly #waiting = new FairQueue<WaitingLogin>(credentialChecksWaitingMax);
  readonly #refusals: RefusalLog;
  readonly #guesses = new GuessBounds();
  #running = 0;

  constructor(options: CredentialChecksOptions) {
    this.#options = options;
    this.#refusals = new RefusalLog(options.logger, Date.now);
    this.counters = new Map(
      options.backends.map((name) => [name, { authentic: 0, refused: 0, failed: 0, dropped: 0, bounded: 0 }]),
    );
  }

  /** Checks under way, including delayed refusals. */
  get runningCount(): number {
    return this.#running;
  }

  get waitingCount(): number {
    return this.#waiting.count;
  }

  /** Logins that were refused unchecked, by the bound of wrong logins. */
  get guessesRefused(): Readonly<Record<GuessBound, number>> {
    return this.#guesses.refused;
  }

  /** How long checks waited for their turn, and how long backends took. */
  get times(): { readonly wait: HistogramSnapshot; readonly check: HistogramSnapshot } {
    return { wait: this.#waitSeconds.snapshot(), check: this.#checkSeconds.snapshot() };
  }

  /**
   * @param address of the client: addresses (for IPv6, sites) take turns, and so do the users of one address
   * @returns undefined if the password is wrong, or could not be checked
   */
  async check(task: CredentialTask, address = ""): Promise<CredentialResult | undefined> {
    const askedMs = performance.now();
    // The name of a backend has no NUL, so that two logins never share a bound.
    const guesser = { login: `${task.eauth}\0${task.username}`, address: addressKey(address) };
    if (this.#isBounded(task, guesser)) return undefined;
    if (this.#running >= credentialChecksMax) {
      const hasTurn = await new Promise<boolean>((resolve) => {
        const out = this.#waiting.offer({ address: guesser.address, user: task.username, resolve });
        out?.resolve(false);
      });
      if (!hasTurn) {
        this.#count(task, "dropped");
        this.#refusals.note({ eauth: task.eauth }, "too many authentications wait: one was refused unasked");
        return undefined;
      }
    } else {
      this.#running += 1;
    }
    this.#waitSeconds.observe((performance.now() - askedMs) / 1_000);
    try {
      // Logins that were wrong while this one waited count, too.
      return this.#isBounded(task, guesser) ? undefined : await this.#ask(task, guesser);
    } finally {
      // The next check in turn takes over the place.
      const next = this.#waiting.take();
      if (next === undefined) this.#running -= 1;
      else next.resolve(true);
    }
  }

  /** Answers at once and takes no place, so that a flood holds up no other login. */
  #isBounded(task: CredentialTask, guesser: Guesser): boolean {
    const bound = this.#guesses.exceeded(guesser, this.#nowMs());
    if (bound === undefined) return false;
    this.#guesses.refused[bound] += 1;
    this.#count(task, "bounded");
    this.#refusals.note(
      { eauth: task.eauth, address: guesser.address, bound },
      "too many wrong logins: one was refused unchecked",
    );
    return true;
  }

  #nowMs(): number {
    return (this.#options.nowMs ?? (() => performance.now()))();
  }

  async #ask(task: CredentialTask, guesser: Guesser): Promise<CredentialResult | undefined> {
    const { lane, logger, wait = delay } = this.#options;
    const { eauth, username } = task;
    const startedMs = performance.now();
    let fault: string | undefined;
    try {
      const result = await lane.run<CredentialResult>(task);
      if (result.isAuthentic) {
        this.#count(task, "authentic");
        this.#guesses.noteRight(guesser, this.#nowMs());
        return result;
      }
      fault = result.fault;
    } catch (error) {
      fault = (error as Error).message;
    } finally {
      this.#checkSeconds.observe((performance.now() - startedMs) / 1_000);
    }
    // A check that failed counts as a guess, so that a backend that hangs is not asked without bound.
    this.#guesses.noteWrong(guesser, this.#nowMs());
    this.#count(task, fault === undefined ? "refused" : "failed");
    if (fault === undefined) logger.warn({ eauth, username }, 'Authentication failure of type "eauth" occurred.');
    else logger.error({ eauth, username, fault }, "an eauth system could not check a user's password");
    const { min, max } = refusedCredentialMs;
    await wait(Math.max(0, randomInt(min, max) - (performance.now() - startedMs)));
    return undefined;
  }

  #count({ eauth }: CredentialTask, outcome: keyof CheckCounts): void {
    const counts = this.counters.get(eauth);
    if (counts !== undefined) counts[outcome] += 1;
  }
}
