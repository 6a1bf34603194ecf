/** The connected minions of a cluster as one member sees them: what it tells the others of its own, and what it has heard of theirs. */
import { PresenceDigest } from "./digest.ts";
import { OtherMembers } from "./other-members.ts";

/** This member's own presence. */
export type LocalPresence = {
  /** Whether the minion is connected to this member. */
  readonly isHere: (id: string) => boolean;
  /** A minion has come to another member, or has left all others. */
  readonly onArrived: (id: string) => void;
  readonly onLeft: (id: string) => void;
};

export class Elsewhere {
  readonly others = new OtherMembers();
  readonly digest = new PresenceDigest((id) => this.#local?.isHere(id) ?? false);
  #local: LocalPresence | undefined;

  /** Called once, by this member's own presence. */
  follow(local: LocalPresence): void {
    this.#local = local;
    this.others.onArrived = local.onArrived;
    this.others.onLeft = local.onLeft;
  }

  /** Whether the minion is connected to another member. */
  has(id: string): boolean {
    return this.others.has(id);
  }

  /** The minions that are connected to other members, each once. */
  ids(): Iterable<string> {
    return this.others.ids();
  }

  /** Called at each contact with a minion here. */
  noteContact(id: string): void {
    this.digest.noteContact(id);
  }
}
