/** Index of subscribers by topic: a message finds its subscribers without a scan of all. Pure: no I/O, no clock. */

/** `text`: a prefix of the message's first part, one character a byte. */
export type Topic<Member> = { readonly text: string; readonly members: Set<Member> };

/** `lastMatch`: number of the last `match` that found the member, so that one with overlapping topics is found once. */
export type TopicMember = { lastMatch: number };

export class Topics<Member extends TopicMember> {
  readonly #byText = new Map<string, Topic<Member>>();
  /** Number of topics by length. */
  readonly #lengths = new Map<number, number>();
  #sortedLengths: readonly number[] = [];
  #matches = 0;

  /** Topics with a subscriber. */
  get count(): number {
    return this.#byText.size;
  }

  /** @returns the topic, which the member may keep for `remove` */
  add(member: Member, text: string): Topic<Member> {
    let topic = this.#byText.get(text);
    if (topic === undefined) {
      topic = { text, members: new Set() };
      this.#byText.set(text, topic);
      this.#countLength(text.length, 1);
    }
    topic.members.add(member);
    return topic;
  }

  remove(member: Member, topic: Topic<Member>): void {
    if (!topic.members.delete(member) || topic.members.size > 0) return;
    this.#byText.delete(topic.text);
    this.#countLength(topic.text.length, -1);
  }

  /** Calls `found` once with each member that has a topic that is a prefix of `first`. */
  match(first: Buffer, found: (member: Member) => void): void {
    const matching: Topic<Member>[] = [];
    for (const length of this.#sortedLengths) {
      if (length > first.length) break;
      const topic = this.#byText.get(first.toString("latin1", 0, length));
      if (topic !== undefined) matching.push(topic);
    }
    this.#matches += 1;
    for (const { members } of matching) {
      for (const member of members) {
        if (member.lastMatch === this.#matches) continue;
        member.lastMatch = this.#matches;
        found(member);
      }
    }
  }

  #countLength(length: number, change: number): void {
    const count = (this.#lengths.get(length) ?? 0) + change;
    if (count > 0) this.#lengths.set(length, count);
    else this.#lengths.delete(length);
    if (count > 1 || (count === 1 && change < 0)) return;
    this.#sortedLengths = [...this.#lengths.keys()].sort((a, b) => a - b);
  }
}
