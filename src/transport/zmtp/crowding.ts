/** Finds the address with the most connections without a scan of all connections. Pure: no I/O, no clock. */

/** Connections of one address are linked in the order in which they came. */
export type AddressMember<Member> = { addressKey: string; older: Member | undefined; newer: Member | undefined };

type Place<Member> = { count: number; newest: Member };

export class Crowding<Member extends AddressMember<Member>> {
  readonly #places = new Map<string, Place<Member>>();
  /** Addresses by their number of connections. */
  readonly #byCount: (Set<string> | undefined)[] = [];
  #most = 0;

  countOf(key: string): number {
    return this.#places.get(key)?.count ?? 0;
  }

  add(key: string, member: Member): void {
    const place = this.#places.get(key);
    member.addressKey = key;
    member.older = place?.newest;
    if (place === undefined) this.#places.set(key, { count: 1, newest: member });
    else {
      place.newest.newer = member;
      place.newest = member;
      place.count += 1;
    }
    this.#move(key, this.countOf(key) - 1, this.countOf(key));
  }

  remove(member: Member): void {
    const key = member.addressKey;
    const place = this.#places.get(key);
    if (place === undefined) return;
    if (member.older !== undefined) member.older.newer = member.newer;
    if (member.newer !== undefined) member.newer.older = member.older;
    if (place.newest === member && member.older !== undefined) place.newest = member.older;
    member.older = undefined;
    member.newer = undefined;
    place.count -= 1;
    if (place.count === 0) this.#places.delete(key);
    this.#move(key, place.count + 1, place.count);
  }

  /** The newest connection of the address with the most, if it has more than `count`; undefined otherwise. */
  newestAbove(count: number): Member | undefined {
    if (this.#most <= count) return undefined;
    const [key] = this.#byCount[this.#most] ?? [];
    return key === undefined ? undefined : this.#places.get(key)?.newest;
  }

  #move(key: string, from: number, to: number): void {
    this.#byCount[from]?.delete(key);
    if (to > 0) {
      this.#byCount[to] ??= new Set();
      this.#byCount[to].add(key);
    }
    this.#most = Math.max(this.#most, to);
    while (this.#most > 0 && (this.#byCount[this.#most]?.size ?? 0) === 0) this.#most -= 1;
  }
}
