/**
 * Waiters for a turn, by address and by user. Addresses take turns, and so do the users of one address. When all places are taken, the
 * address with the most of them gives one up, so that a flood from one address leaves room for the others. Pure.
 */

/** Where a waiter comes from. */
export type Waiter = { readonly address: string; readonly user: string };

export class FairTurns<Item extends Waiter> {
  readonly #placesMax: number;
  /** The next in turn comes first. */
  readonly #addresses = new Map<string, Map<string, Item[]>>();
  #count = 0;

  constructor(placesMax: number) {
    this.#placesMax = placesMax;
  }

  get count(): number {
    return this.#count;
  }

  /** @returns the waiter without a place: the newcomer, or one that has to go for it; undefined if there is room */
  offer(item: Item): Item | undefined {
    const out = this.#count < this.#placesMax ? undefined : this.#crowdedOut(item);
    if (out === item) return item;
    const users = this.#addresses.get(item.address) ?? new Map<string, Item[]>();
    this.#addresses.set(item.address, users);
    const items = users.get(item.user) ?? [];
    users.set(item.user, items);
    items.push(item);
    this.#count += 1;
    return out;
  }

  /** The next in turn. */
  take(): Item | undefined {
    const [first] = this.#addresses;
    if (first === undefined) return undefined;
    const [address, users] = first;
    const [firstUser] = users;
    if (firstUser === undefined) return undefined;
    const [user, items] = firstUser;
    const item = items.shift();
    // A user that had its turn goes behind the others.
    users.delete(user);
    if (items.length > 0) users.set(user, items);
    this.#addresses.delete(address);
    if (users.size > 0) this.#addresses.set(address, users);
    this.#count -= 1;
    return item;
  }

  /** The newest of the user with the most places at the address with the most; the newcomer where it would have no fewer. */
  #crowdedOut(item: Item): Item {
    const own = this.#addresses.get(item.address);
    const [crowd, users] = fullest(this.#addresses, countOf);
    if (users === undefined || (crowd !== item.address && countOf(users) <= (own === undefined ? 0 : countOf(own)) + 1))
      return item;
    const [name, items] = fullest(users, (waiting) => waiting.length);
    if (items === undefined || name === undefined) return item;
    if (crowd === item.address && items.length <= (users.get(item.user)?.length ?? 0) + 1) return item;
    const out = items.pop() ?? item;
    this.#count -= 1;
    if (items.length === 0) users.delete(name);
    if (users.size === 0 && crowd !== undefined) this.#addresses.delete(crowd);
    return out;
  }
}

function countOf(users: ReadonlyMap<string, readonly unknown[]>): number {
  let count = 0;
  for (const items of users.values()) count += items.length;
  return count;
}

function fullest<Of>(map: ReadonlyMap<string, Of>, sizeOf: (of: Of) => number): [string, Of] | [undefined, undefined] {
  let found: [string, Of] | undefined;
  for (const entry of map) if (found === undefined || sizeOf(entry[1]) > sizeOf(found[1])) found = entry;
  return found ?? [undefined, undefined];
}
