/**
 * Each member's lease, by which it may act for the jobs that it owns. The member renews it. Its own lease ends `jobLeaseMs` after it *sent* the latest
 * renewal that the cluster confirmed. For the others it ends `jobLeaseMs` and a margin after they *saw* that renewal. So the owner stops before another
 * member may take over, whatever their clocks show.
 */
import { randomBytes } from "node:crypto";
import { jobLeaseKeptMs, jobLeaseMarginMs, jobLeaseMs, jobLeaseRenewMs } from "../../limits.ts";
import type { SecretBox } from "../../store/secrets/sealed.ts";
import { isOtherVersion } from "../other-version.ts";
import type { BucketWrite } from "../watched-bucket.ts";
import { type LeaseContent, type LeaseKey, leaseKeyText, type Owner, openLease, sealLease } from "./record.ts";

export type MemberLeasesOptions = {
  /** This member's name. */
  readonly member: string;
  readonly box: SecretBox;
  /** Writes by compare-and-set; undefined if another revision is the newest. */
  readonly put: (write: BucketWrite) => Promise<number | undefined>;
  /** A monotonic clock that counts while the machine sleeps, milliseconds. */
  readonly now: () => number;
  readonly onGained: () => void;
  /** The own lease has ended. This member must not act any more. */
  readonly onLapsed: () => void;
  readonly onFault: (error: unknown) => void;
  /** Tests use less. */
  readonly times?: { readonly leaseMs: number; readonly marginMs: number; readonly renewMs: number };
};

/** `session`: undefined for a lease in the form of another release. */
type Seen = Omit<LeaseContent, "session"> & {
  readonly session: string | undefined;
  readonly revision: number;
  readonly seenMs: number;
};

const usualTimes = { leaseMs: jobLeaseMs, marginMs: jobLeaseMarginMs, renewMs: jobLeaseRenewMs };

export class MemberLeases {
  readonly counters = { renewed: 0, unconfirmed: 0, lapsed: 0 };
  /** This process as an owner. */
  readonly self: Owner;
  readonly #options: MemberLeasesOptions;
  readonly #times: typeof usualTimes;
  readonly #key: LeaseKey;
  readonly #members = new Map<string, Seen>();
  #untilMs = Number.NEGATIVE_INFINITY;
  /** Since when this member has its lease. What others wrote before was perhaps not read yet. */
  #gainedMs = Number.POSITIVE_INFINITY;
  #isHeld = false;
  /** Revisions of this member's latest renewal: that the cluster confirmed, and that the watch has brought. */
  #confirmedRevision = 0;
  #watchedRevision = 0;
  #isEnding = false;
  #renewing: Promise<void> | undefined;
  #renewTimer: NodeJS.Timeout | undefined;
  #endTimer: NodeJS.Timeout | undefined;

  constructor(options: MemberLeasesOptions) {
    this.#options = options;
    this.#times = options.times ?? usualTimes;
    this.self = { member: options.member, session: randomBytes(9).toString("base64url") };
    this.#key = { kind: "lease", member: options.member };
  }

  /** Begins to renew. Resolves after the first try. */
  async start(): Promise<void> {
    this.#renewTimer = setInterval(() => void this.renew(), this.#times.renewMs).unref();
    await this.renew();
  }

  /** Whether this member may act now. */
  get holds(): boolean {
    return !this.#isEnding && this.#options.now() < this.#untilMs;
  }

  /**
   * Takes a lease from the bucket. `value`: undefined for one that was removed. One in the form of another release holds all the same.
   *
   * @throws SaltworksError CLUSTER_REFUSED for that form, for another secret and for changed bytes
   */
  note(member: string, revision: number, value: Uint8Array | undefined): void {
    if (member === this.self.member) this.#watchedRevision = Math.max(this.#watchedRevision, revision);
    if (value === undefined) {
      this.#members.delete(member);
      return;
    }
    const set = (content: Pick<Seen, "session" | "isOver">) => {
      if (revision > (this.#members.get(member)?.revision ?? 0))
        this.#members.set(member, { ...content, revision, seenMs: this.#options.now() });
    };
    try {
      set(openLease<LeaseContent>(this.#options.box, { kind: "lease", member }, value));
    } catch (error) {
      if (isOtherVersion(error)) set({ session: undefined, isOver: false });
      throw error;
    }
  }

  /**
   * Whether another owner may take over from this one. Only a member with a lease of its own can tell, and only while its watch is not behind: it has
   * brought the member's own latest renewal, and with it all that is older.
   */
  hasLapsed(owner: Owner): boolean {
    if (!this.holds || this.#watchedRevision < this.#confirmedRevision) return false;
    if (owner.member === this.self.member) return owner.session !== this.self.session;
    const seen = this.#members.get(owner.member);
    if (seen?.session !== undefined && (seen.session !== owner.session || seen.isOver)) return true;
    const sinceMs = Math.max(seen?.seenMs ?? 0, this.#gainedMs);
    return this.#options.now() - sinceMs > this.#times.leaseMs + this.#times.marginMs;
  }

  /** Whether each member holds its lease. Undefined for others while this member has none, because it cannot tell then. */
  holders(): ReadonlyMap<string, boolean | undefined> {
    const { member: own } = this.self;
    const others = [...this.#members].filter(([member]) => member !== own);
    const heldBy = (owner: Owner) => (this.holds ? !this.hasLapsed(owner) : undefined);
    return new Map([
      [own, this.holds] as const,
      ...others.map(([member, { session = "" }]) => [member, heldBy({ member, session })] as const),
    ]);
  }

  renew(): Promise<void> {
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  /** From here on this member does not act. */
  release(): void {
    this.#isEnding = true;
    clearInterval(this.#renewTimer);
    clearTimeout(this.#endTimer);
  }

  /** Tells the others that they may take over at once. Call it when nothing of this member is under way. */
  async end(): Promise<void> {
    this.release();
    await this.#renewing;
    try {
      await this.#write(true);
    } catch (error) {
      this.#options.onFault(error);
    }
  }

  async #renew(): Promise<void> {
    if (this.#isEnding) return;
    const sentMs = this.#options.now();
    try {
      if (await this.#write(false)) {
        this.counters.renewed += 1;
        this.#extend(sentMs + this.#times.leaseMs);
        return;
      }
    } catch (error) {
      if (!this.#isEnding) this.#options.onFault(error);
    }
    // After a write without an answer the revision is another. The watch brings it.
    this.counters.unconfirmed += 1;
  }

  async #write(isOver: boolean): Promise<boolean> {
    const { box, put, now } = this.#options;
    const content: LeaseContent = { session: this.self.session, isOver };
    const revision = await put({
      key: leaseKeyText(this.#key),
      value: sealLease(box, this.#key, content),
      revision: this.#members.get(this.self.member)?.revision ?? 0,
      lifeMs: jobLeaseKeptMs,
    });
    if (revision === undefined) return false;
    this.#confirmedRevision = revision;
    this.#members.set(this.self.member, { ...content, revision, seenMs: now() });
    return true;
  }

  #extend(untilMs: number): void {
    if (this.#isEnding) return;
    // After a sleep of the machine the renewal may come before the timer. Others may have taken over meanwhile.
    this.#lapseIfPast();
    if (untilMs <= this.#untilMs) return;
    this.#untilMs = untilMs;
    const leftMs = untilMs - this.#options.now();
    if (leftMs <= 0) return;
    clearTimeout(this.#endTimer);
    this.#endTimer = setTimeout(() => this.#lookAtEnd(), leftMs);
    if (this.#isHeld) return;
    this.#isHeld = true;
    this.#gainedMs = this.#options.now();
    this.#options.onGained();
  }

  #lookAtEnd(): void {
    if (this.#isEnding) return;
    this.#lapseIfPast();
    if (this.#isHeld) this.#endTimer = setTimeout(() => this.#lookAtEnd(), this.#untilMs - this.#options.now());
  }

  #lapseIfPast(): void {
    if (!this.#isHeld || this.#options.now() < this.#untilMs) return;
    this.#isHeld = false;
    this.#gainedMs = Number.POSITIVE_INFINITY;
    this.counters.lapsed += 1;
    this.#options.onLapsed();
  }
}
