/** Names of each user's records, such as tokens; the least recently used first. In memory: records that were not used since the start are missing. */

export class NamesOfUsers {
  readonly #byUser = new Map<string, Set<string>>();

  /** The most records that one user has. */
  most(): number {
    let most = 0;
    for (const names of this.#byUser.values()) most = Math.max(most, names.size);
    return most;
  }

  /** A record was made or used. */
  note(user: string, name: string): void {
    const names = this.#byUser.get(user) ?? new Set<string>();
    this.#byUser.set(user, names);
    names.delete(name);
    names.add(name);
  }

  drop(user: string, name: string): void {
    const names = this.#byUser.get(user);
    names?.delete(name);
    if (names?.size === 0) this.#byUser.delete(user);
  }

  /** Drops the names of records that no longer exist, and users without any. */
  prune(isKept: (name: string) => boolean): void {
    for (const [user, names] of this.#byUser) {
      for (const name of names) if (!isKept(name)) names.delete(name);
      if (names.size === 0) this.#byUser.delete(user);
    }
  }

  /**
   * Takes out the user's record that was not used for the longest time, if there are more than `most`.
   *
   * @param isKept whether a record still exists: others, which have expired, give way first
   */
  takeOver(user: string, most: number, isKept: (name: string) => boolean): string | undefined {
    const names = this.#byUser.get(user);
    if (names === undefined || names.size <= most) return undefined;
    for (const name of names) if (!isKept(name)) names.delete(name);
    if (names.size <= most) return undefined;
    const [oldest] = names;
    if (oldest !== undefined) names.delete(oldest);
    return oldest;
  }
}
