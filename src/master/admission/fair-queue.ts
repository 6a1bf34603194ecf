/**
 * A fair queue: round robin over addresses, and over the users of each address. When it is full, a newcomer displaces a waiter of the address with
 * the most places, so that a flood from one address leaves room for others. If no address has more places than the newcomer's would have, chance
 * selects the displaced waiter, so that a crowd of addresses cannot keep others out. Pure, except for the chance.
 */
import { randomInt } from "node:crypto";

/** The origin of a waiter. */
export type Waiter = { readonly address: string; readonly user: string };

export class FairQueue<Item extends Waiter> {
  readonly #placesMax: number;
  readonly #random: (below: number) => number;
  /** The next in turn comes first. */
  readonly #addresses = new Map<string, Map<string, Item[]>>();
  #count = 0;

  constructor(placesMax: number, random: (below: number) => number = (below) => randomInt(below)) {
    this.#placesMax = placesMax;
    this.#random = random;
  }

  get count(): number {
    return this.#count;
  }

  /** @returns the waiter without a place: the displaced one or `item` itself; undefined if there is room */
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
    // After its turn a user goes behind the others.
    users.delete(user);
    if (items.length > 0) users.set(user, items);
    this.#addresses.delete(address);
    if (users.size > 0) this.#addresses.set(address, users);
    this.#count -= 1;
    return item;
  }

  /**
   * Removes the newest waiter of the user with the most places at the address with the most. Returns `item` itself if its
   * user has a place and would have as many.
   */
  #crowdedOut(item: Item): Item {
    const own = this.#addresses.get(item.address);
    const [crowd, crowded] = fullest(this.#addresses, countOf);
    const isCrowd = crowded !== undefined && countOf(crowded) > (own === undefined ? 0 : countOf(own)) + 1;
    const address = isCrowd ? crowd : own === undefined ? this.#any(this.#addresses) : item.address;
    const users = address === undefined ? undefined : this.#addresses.get(address);
    if (address === undefined || users === undefined) return item;
    const ownPlaces = users.get(item.user)?.length ?? 0;
    let [user, items] = fullest(users, (waiting) => waiting.length);
    if (address === item.address && (items?.length ?? 0) <= ownPlaces + 1) {
      if (ownPlaces > 0) return item;
      user = this.#any(users);
    }
    return (user === undefined ? undefined : this.#takeNewest(address, users, user)) ?? item;
  }

  #any(map: ReadonlyMap<string, unknown>): string | undefined {
    return [...map.keys()][this.#random(map.size)];
  }

  #takeNewest(address: string, users: Map<string, Item[]>, user: string): Item | undefined {
    const items = users.get(user);
    const out = items?.pop();
    if (out !== undefined) this.#count -= 1;
    if (items?.length === 0) users.delete(user);
    if (users.size === 0) this.#addresses.delete(address);
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
