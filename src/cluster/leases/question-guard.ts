/**
 * Lets each question to the owner of a job be asked once. A question names its time, a nonce and the owner's process. Nothing else would tell a copy that was
 * taken from an operator's NATS and sent again. The own servers take members only, so that there a question of the former release is answered, and the
 * clock does not count.
 */
import { randomBytes } from "node:crypto";
import { SaltworksError } from "../../errors.ts";
import { ownerNoncesMax, ownerQuestionMs } from "../../limits.ts";
import type { Owner } from "./record.ts";

/** What the former release does not send. `session`: of the owner's process, which knows the nonces of its own life. */
export type QuestionMark = { readonly nonce: string; readonly atMs: number; readonly session: string };

/** As it came: without any, or with a part of it. */
export type ReceivedMark = { readonly [Part in keyof QuestionMark]?: QuestionMark[Part] | undefined };

const nonceBytes = 16;
const repeated = "repeated";

export function markFor({ session }: Owner, atMs = Date.now()): QuestionMark {
  return { nonce: randomBytes(nonceBytes).toString("base64url"), atMs, session };
}

/** Whether a question was refused because it was asked before. */
export function isRepeated(error: unknown): boolean {
  return error instanceof SaltworksError && error.detail.reason === repeated;
}

export class QuestionGuard {
  /** Questions that were refused, by reason. */
  readonly counters = { unmarked: 0, process: 0, late: 0, repeated: 0, full: 0 };
  readonly #session: string;
  readonly #areMembersOnly: boolean;
  readonly #now: () => number;
  /** Times of questions by nonce, in the order in which they came. */
  readonly #known = new Map<string, number>();
  /** The newest time of a nonce that was forgotten. A clock that is set back makes no older question new. */
  #forgottenMs = Number.NEGATIVE_INFINITY;

  /** @param areMembersOnly whether the servers take members only */
  constructor({ session }: Owner, areMembersOnly: boolean, now: () => number = Date.now) {
    this.#session = session;
    this.#areMembersOnly = areMembersOnly;
    this.#now = now;
  }

  /** @throws SaltworksError CLUSTER_REFUSED, with the reason for the operator */
  demand({ nonce, atMs, session }: ReceivedMark): void {
    if (typeof nonce !== "string" || typeof atMs !== "number") {
      if (this.#areMembersOnly) return;
      throw this.#refused(
        "unmarked",
        "the question has no nonce: its member runs an older release, so upgrade it first",
      );
    }
    if (session !== this.#session)
      throw this.#refused("process", "the owner was started again since: try again in some seconds");
    if (!this.#areMembersOnly) this.#demandNew(atMs);
    if (this.#known.has(nonce)) throw this.#refused(repeated, "the question was asked before");
    this.#makeRoom();
    this.#known.set(nonce, atMs);
  }

  #demandNew(atMs: number): void {
    const apartMs = Math.abs(this.#now() - atMs);
    if (apartMs > ownerQuestionMs) {
      const [seconds, most] = [Math.round(apartMs / 1_000), ownerQuestionMs / 1_000];
      const why = `the question's time and this member's clock are ${seconds} s apart, and ${most} s are allowed`;
      throw this.#refused("late", why);
    }
    if (atMs <= this.#forgottenMs)
      throw this.#refused("late", "this member's clock was set back, and the question may be an old one");
  }

  #makeRoom(): void {
    const [oldest] = this.#known.keys();
    if (!this.#areMembersOnly) this.#forget();
    else if (this.#known.size >= ownerNoncesMax && oldest !== undefined) this.#known.delete(oldest);
    if (this.#known.size >= ownerNoncesMax)
      throw this.#refused("full", "too many questions were asked: try again in a minute");
  }

  /** Forgets what is late by now. */
  #forget(): void {
    for (const [nonce, atMs] of this.#known) {
      if (this.#now() - atMs <= ownerQuestionMs) continue;
      this.#known.delete(nonce);
      this.#forgottenMs = Math.max(this.#forgottenMs, atMs);
    }
  }

  #refused(reason: keyof QuestionGuard["counters"], why: string): SaltworksError {
    this.counters[reason] += 1;
    return new SaltworksError("CLUSTER_REFUSED", why, { reason });
  }
}
