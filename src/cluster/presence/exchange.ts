/**
 * Tells the other members which minions are connected here, and takes what they tell, over core NATS: what is missed comes with the next whole list.
 * A change goes out within a second. A message goes out each second in any case, so that a silent member is noticed.
 */
import { randomBytes } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { NatsConnection, Subscription } from "@nats-io/nats-core";
import type { Logger } from "pino";
import { within } from "../../deadline.ts";
import { clusterRequestMs, presenceIdsOfMessageMax, presenceListMs, presenceTickMs } from "../../limits.ts";
import { OtherVersions } from "../other-version.ts";
import type { PresenceDigest } from "./digest.ts";
import { decodePresence, encodePresence, type PresenceMessage } from "./message.ts";
import type { OtherMembers } from "./other-members.ts";

type WithoutSender<T> = T extends unknown ? Omit<T, "by" | "session" | "seq"> : never;

export type PresenceExchangeOptions = {
  readonly nats: NatsConnection;
  readonly subject: string;
  /** This member's name. */
  readonly member: string;
  readonly digest: PresenceDigest;
  readonly others: OtherMembers;
  readonly logger: Pick<Logger, "warn" | "info">;
};

export class PresenceExchange {
  /** `unreadable`: messages that are not of this version. */
  readonly counters = { sent: 0, lists: 0, unreadable: 0 };
  readonly #options: PresenceExchangeOptions;
  readonly #otherVersions: OtherVersions;
  readonly #session = randomBytes(8).toString("base64url");
  readonly #timer: NodeJS.Timeout;
  readonly #subscription: Subscription;
  #seq = 0;
  /** False while this member's own server is away. Messages would then wait in memory without a bound. */
  #isUp = true;
  #isAsked = true;
  #listedMs = Number.NEGATIVE_INFINITY;
  #isListing = false;
  #isClosed = false;

  constructor(options: PresenceExchangeOptions) {
    this.#options = options;
    this.#otherVersions = new OtherVersions(options.logger);
    const { nats, subject } = options;
    this.#subscription = nats.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) this.#take(message.data);
        else options.logger.warn({ err: error }, "the other members' presence cannot be heard");
      },
    });
    this.#timer = setInterval(() => this.tick(), presenceTickMs);
    void this.#followStatus();
    this.#tell({ kind: "ask" });
    this.tick();
  }

  /** Tells what has changed, and forgets silent members. */
  tick(): void {
    const { others, digest, logger } = this.#options;
    const nowMs = performance.now();
    for (const member of others.expire(nowMs))
      logger.warn({ member }, "a member is silent: its minions count as not connected");
    if (!this.#isUp || this.#isListing || this.#isClosed) return;
    this.#tellChanges(digest.changes());
    if (others.lacksList) this.#tell({ kind: "ask" });
    const sinceMs = nowMs - this.#listedMs;
    if (sinceMs < (this.#isAsked ? presenceListMs.asked : presenceListMs.usual)) return;
    this.#isAsked = false;
    this.#listedMs = nowMs;
    void this.#tellList();
  }

  /** Tells the others that this member ends. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    clearInterval(this.#timer);
    if (this.#isUp) this.#tell({ kind: "end" });
    this.#isClosed = true;
    this.#subscription.unsubscribe();
    this.#options.others.clear();
    const { nats, logger } = this.#options;
    if (!this.#isUp || nats.isClosed()) return;
    const onFault = (err: Error) => logger.info({ err }, "the other members were not told of this member's end");
    await within(nats.flush().catch(onFault), clusterRequestMs, () => undefined);
  }

  #tellChanges({ came, gone }: ReturnType<PresenceDigest["changes"]>): void {
    let at = 0;
    do {
      const to = at + presenceIdsOfMessageMax;
      this.#tell({ kind: "change", came: came.slice(at, to), gone: gone.slice(at, to) });
      at = to;
    } while (at < Math.max(came.length, gone.length));
  }

  /** One part in each turn of the event loop. Changes wait meanwhile. */
  async #tellList(): Promise<void> {
    this.#isListing = true;
    this.counters.lists += 1;
    const ids = this.#options.digest.told();
    let at = 0;
    do {
      const part = ids.slice(at, at + presenceIdsOfMessageMax);
      const isLast = at + presenceIdsOfMessageMax >= ids.length;
      this.#tell({ kind: "list", isFirst: at === 0, isLast, ids: part });
      at += presenceIdsOfMessageMax;
      await nextTurn();
    } while (at < ids.length && this.#isUp && !this.#isClosed);
    this.#isListing = false;
  }

  #tell(message: WithoutSender<PresenceMessage>): void {
    const { nats, subject, member } = this.#options;
    if (!this.#isUp || this.#isClosed || nats.isClosed()) return;
    this.#seq += 1;
    this.counters.sent += 1;
    nats.publish(subject, encodePresence({ ...message, by: member, session: this.#session, seq: this.#seq }));
  }

  #take(bytes: Uint8Array): void {
    const { member, others } = this.#options;
    let message: PresenceMessage;
    try {
      message = decodePresence(bytes);
    } catch (error) {
      this.counters.unreadable += 1;
      this.#otherVersions.note("presence", error);
      return;
    }
    if (message.by === member || this.#isClosed) return;
    if (message.kind === "ask") this.#isAsked = true;
    others.take(message, performance.now());
  }

  async #followStatus(): Promise<void> {
    for await (const { type } of this.#options.nats.status()) {
      if (type === "disconnect") this.#isUp = false;
      if (type !== "reconnect") continue;
      this.#isUp = true;
      // Both sides have missed what was told meanwhile.
      this.#isAsked = true;
      this.#tell({ kind: "ask" });
    }
  }
}
