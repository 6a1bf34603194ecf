/** What happened to one cluster under load, as its operators and minions saw it. Times are by `performance.now()`. */

/** Names the members by their place. */
export type MemberIndex = number;

export type Published = {
  readonly jid: string;
  readonly member: MemberIndex;
  readonly targets: readonly string[];
  readonly sentMs: number;
  readonly endedMs: number;
  /** `unanswered`: the member may have published it all the same. */
  readonly outcome: "taken" | "refused" | "unanswered";
};

export type Delivered = {
  readonly jid: string;
  readonly minion: string;
  readonly member: MemberIndex;
  /** `again`: the minion had it, and its serial was new. `stale`: a minion drops it unread, because its serial is not above the last one. */
  readonly kind: "first" | "again" | "stale";
};

export type Acknowledged = { readonly jid: string; readonly minion: string; readonly member: MemberIndex };

/** A time in which a minion was subscribed at one member. */
export type Subscribed = {
  readonly minion: string;
  readonly member: MemberIndex;
  readonly fromMs: number;
  toMs: number;
};

export type AcceptedKey = { readonly id: string; readonly member: MemberIndex };

export class History {
  readonly published: Published[] = [];
  readonly delivered: Delivered[] = [];
  readonly acknowledged: Acknowledged[] = [];
  readonly subscribed: Subscribed[] = [];
  readonly acceptedKeys: AcceptedKey[] = [];
}

/** What one member knows after the load. */
export type Knowledge = {
  /** Minions whose return to a job the member's job cache has. */
  readonly returns: ReadonlyMap<string, ReadonlySet<string>>;
  readonly acceptedKeys: ReadonlySet<string>;
};
