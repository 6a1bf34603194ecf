/** A simulated minion of a cluster that keeps the publishes it can read. */
import type { MinionKey } from "../../../bench/fleet/keys.ts";
import { Connection } from "../../../bench/fleet/storm/connection.ts";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { hasCode } from "../../../src/errors.ts";
import { decode } from "../../../src/wire/msgpack.ts";
import { decodePublish } from "../../../src/wire/publish.ts";
import type { ValueMap } from "../../../src/wire/values.ts";
import { ProbeMinion } from "../probe-minion.ts";

type Got = { readonly jid: string; readonly fun: string; readonly serial: number; readonly aes: string };

/** A minion whose requests go to one member and whose subscription is at another, as behind one address. */
export class Subscriber {
  probe: ProbeMinion;
  readonly got: Got[] = [];
  /** Publishes under another key than the minion has. */
  readonly #unread: Buffer[] = [];
  readonly #connection: Connection;
  readonly #requestPort: number;

  private constructor(probe: ProbeMinion, connection: Connection, requestPort: number) {
    this.probe = probe;
    this.#connection = connection;
    this.#requestPort = requestPort;
    connection.onMessage = (frame) => {
      const kept = Buffer.from(frame);
      if (!this.#read(kept)) this.#unread.push(kept);
    };
  }

  static async open(
    id: string,
    key: MinionKey,
    requests: MasterProcess,
    publishes: MasterProcess,
  ): Promise<Subscriber> {
    const { requestPort } = requests;
    const probe = await ProbeMinion.open(id, key, requestPort);
    const connection = await Connection.open({ host: "127.0.0.1", port: publishes.publishPort, type: "SUB" });
    return new Subscriber(probe, connection, requestPort);
  }

  /** Does what a minion does that cannot read a publish: authenticates again, and reads it again. */
  async renew(): Promise<void> {
    if (this.#unread.length === 0) return;
    const former = this.probe;
    this.probe = await ProbeMinion.open(former.id, former.key, this.#requestPort);
    former.close();
    for (const frame of this.#unread.splice(0)) if (!this.#read(frame)) this.#unread.push(frame);
  }

  has(jid: string): boolean {
    return this.got.some((job) => job.jid === jid);
  }

  serialsRise(): boolean {
    return this.got.every(({ serial }, at) => serial > (this.got[at - 1]?.serial ?? 0));
  }

  close(): void {
    this.probe.close();
    this.#connection.close();
  }

  #read(frame: Buffer): boolean {
    const { aes } = this.probe.keys;
    try {
      const load = decode(aes.crypticle.open(decodePublish(frame).load)) as ValueMap;
      const [jid, fun, serial] = ["jid", "fun", "serial"].map((name) => load.get(name));
      this.got.push({ jid: String(jid), fun: String(fun), serial: Number(serial), aes: aes.text });
      return true;
    } catch (error) {
      if (hasCode(error, "CRYPTO_BAD_MAC")) return false;
      throw error;
    }
  }
}
