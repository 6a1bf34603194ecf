/** A minion with a valid key that forges another minion's answer as soon as it gets a job; the other one answers after it. */
import { join } from "node:path";
import { defaultKeyDirectory, loadPrimes, minionKey } from "../../../bench/fleet/keys.ts";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { EventSubscriber } from "../../../src/transport/event-stream-client.ts";
import { splitEvent } from "../../../src/wire/event.ts";
import type { Encodable } from "../../../src/wire/values.ts";
import { ProbeMinion } from "../probe-minion.ts";

export const forgedText = "forged-by-another";
export const genuineText = "genuine-answer";
type Load = { readonly [key: string]: Encodable };

export class Forger {
  readonly faults: Error[] = [];
  readonly #liar: ProbeMinion;
  readonly #victim: ProbeMinion;
  readonly #bus: EventSubscriber;
  /** Jobs whose forgeries and true answer have all been sent. */
  readonly #jobs: Promise<void>[] = [];

  private constructor(liar: ProbeMinion, victim: ProbeMinion, bus: EventSubscriber) {
    this.#liar = liar;
    this.#victim = victim;
    this.#bus = bus;
  }

  /** For a master that accepts every key; the minions are `liar` and `victim`. */
  static async open(master: MasterProcess): Promise<Forger> {
    const primes = await loadPrimes(defaultKeyDirectory(), 2);
    const [liar, victim] = await Promise.all(
      ["liar", "victim"].map((id, index) => ProbeMinion.open(id, minionKey(primes, index), master.requestPort)),
    );
    const opened: { forger?: Forger } = {};
    const bus = await EventSubscriber.connect(join(master.socketDirectory, "master_event_pub.ipc"), {
      onEvent: (body) => opened.forger?.hear(splitEvent(body).tag),
      onClose: () => undefined,
    });
    if (liar === undefined || victim === undefined) throw new Error("no minions");
    opened.forger = new Forger(liar, victim, bus);
    return opened.forger;
  }

  hear(tag: string): void {
    const jid = /^salt\/job\/([^/]+)\/new$/.exec(tag)?.[1];
    if (jid !== undefined) this.#jobs.push(this.#play(jid).catch((error: Error) => void this.faults.push(error)));
  }

  async settled(): Promise<void> {
    await Promise.all(this.#jobs);
  }

  close(): void {
    this.#bus.close();
    this.#liar.close();
    this.#victim.close();
  }

  async #play(jid: string): Promise<void> {
    for (const load of forgeries(jid)) await this.#liar.ask(this.#liar.seal({ cmd: "_minion_event", ...load }));
    for (const minion of [this.#victim, this.#liar])
      await minion.ask(minion.seal({ ...minion.returnLoad(jid), return: genuineText }));
  }
}

/** Every form of a minion's event, with the tags that readers of jobs' events look for. */
function forgeries(jid: string): Load[] {
  const data = { id: "victim", jid, return: forgedText, retcode: 0, success: true, fun: "test.ping", fun_args: [] };
  const tags = [
    `salt/job/${jid}/ret/victim`,
    `/salt/job//${jid}/ret/victim`,
    `salt/job/${jid}/prog/liar/1`,
    `salt/job/${jid}/prog/liar/ret/victim`,
    `syndic/liar/salt/job/${jid}/ret/victim`,
    `saltworks/job/${jid}/done`,
    `salt/job/${jid}/new`,
    jid,
  ];
  const done = { jid, returned: [], silent: { victim: forgedText }, minions: ["ghost"], missing: [forgedText] };
  return [
    ...tags.map((tag) => ({ tag, ...data, ...done, id: "liar", data })),
    {
      events: tags.flatMap((tag) => [
        { tag, data },
        { tag, data: done },
      ]),
    },
    { events: [{ tag: "victim", data }], pretag: `salt/job/${jid}/ret` },
    { events: [{ tag: `ret/victim`, data }], pretag: `/salt/job/${jid}` },
  ];
}
