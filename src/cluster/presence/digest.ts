/** What the other members were told of this member's minions, and what has changed since. Pure. */
import { presenceLookShare } from "../../limits.ts";

export type PresenceChange = { readonly came: readonly string[]; readonly gone: readonly string[] };

export class PresenceDigest {
  readonly #isConnected: (id: string) => boolean;
  /** Connected minions, as the others were told. */
  readonly #told = new Set<string>();
  readonly #came = new Set<string>();
  #walk: Iterator<string> | undefined;

  /** `isConnected`: whether the minion is connected here. */
  constructor(isConnected: (id: string) => boolean) {
    this.#isConnected = isConnected;
  }

  /** Called at each contact, so it must be cheap. */
  noteContact(id: string): void {
    if (!this.#told.has(id)) this.#came.add(id);
  }

  /** The minions that were told as connected. */
  told(): readonly string[] {
    return [...this.#told];
  }

  get toldCount(): number {
    return this.#told.size;
  }

  /** What to tell now. A minion that is gone is noticed within `presenceLookShare` calls, because each call looks at a part of the minions. */
  changes(): PresenceChange {
    const came = [...this.#came].filter((id) => this.#isConnected(id));
    this.#came.clear();
    const gone: string[] = [];
    const looks = Math.ceil(this.#told.size / presenceLookShare);
    for (let look = 0; look < looks; look += 1) {
      this.#walk ??= this.#told.values();
      const { value, done } = this.#walk.next();
      if (done === true) this.#walk = undefined;
      else if (!this.#isConnected(value)) gone.push(value);
    }
    for (const id of gone) this.#told.delete(id);
    for (const id of came) this.#told.add(id);
    return { came, gone };
  }
}
