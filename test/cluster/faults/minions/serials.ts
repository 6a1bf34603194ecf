/** The cluster's sequence of jobs as all minions see it: under one AES key a serial stands for one job, at whichever member. */

export class Serials {
  readonly faults: string[] = [];
  /** By key and serial. */
  readonly #jids = new Map<string, string>();

  get count(): number {
    return this.#jids.size;
  }

  note(aes: string, serial: number, jid: string): void {
    const name = `${aes} ${serial}`;
    const known = this.#jids.get(name);
    if (known === undefined) this.#jids.set(name, jid);
    else if (known !== jid) this.faults.push(`serial ${serial} is job ${known} at one member and ${jid} at another`);
  }
}
