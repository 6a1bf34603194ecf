/** A simulated minion of a cluster that runs jobs: it drops a job id that it had, answers find_job, and returns to the member that it asks. */
import { setTimeout as pause } from "node:timers/promises";
import type { MinionKey } from "../../../bench/fleet/keys.ts";
import { Connection } from "../../../bench/fleet/storm/connection.ts";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { hasCode } from "../../../src/errors.ts";
import { compileGlob } from "../../../src/python/fnmatch.ts";
import { decode } from "../../../src/wire/msgpack.ts";
import { decodePublish } from "../../../src/wire/publish.ts";
import type { Encodable, Value, ValueMap } from "../../../src/wire/values.ts";
import { ProbeMinion } from "../probe-minion.ts";

const returnRetryMs = 500;
const returnTriesMax = 100;

/** Holds jobs of simulated minions back before they return, so that a test decides what comes before. It is open at first. */
export class JobGate {
  #freeCount = Number.POSITIVE_INFINITY;
  readonly #held: (() => void)[] = [];

  /** From now on only `freeCount` jobs pass. */
  hold(freeCount = 0): void {
    this.#freeCount = freeCount;
  }

  release(): void {
    this.#freeCount = Number.POSITIVE_INFINITY;
    for (const pass of this.#held.splice(0)) pass();
  }

  /** Resolves when the job may return. */
  async pass(): Promise<void> {
    this.#freeCount -= 1;
    if (this.#freeCount < 0) await new Promise<void>((resolve) => this.#held.push(resolve));
  }
}

export class RunningMinion {
  readonly id: string;
  /** Job ids of the functions that it ran, besides pings and the master's own questions. */
  readonly ran: string[] = [];
  readonly #probe: ProbeMinion;
  readonly #connection: Connection;
  readonly #work: () => Promise<unknown>;
  readonly #known = new Set<string>();
  readonly #running = new Set<string>();
  #isClosed = false;

  private constructor(probe: ProbeMinion, connection: Connection, work: () => Promise<unknown>) {
    this.id = probe.id;
    this.#probe = probe;
    this.#connection = connection;
    this.#work = work;
    connection.onMessage = (frame) => {
      const load = this.#read(Buffer.from(frame));
      if (load !== undefined) void this.#run(load);
    };
  }

  /** @param work what each job waits for until it returns */
  static async open(
    id: string,
    key: MinionKey,
    member: MasterProcess,
    work: () => Promise<unknown>,
  ): Promise<RunningMinion> {
    const probe = await ProbeMinion.open(id, key, member.requestPort);
    const connection = await Connection.open({ host: "127.0.0.1", port: member.publishPort, type: "SUB" });
    return new RunningMinion(probe, connection, work);
  }

  /** Fires the event of a minion that has started: a waiting job comes soon after it. */
  async announce(): Promise<void> {
    const { id } = this;
    const event = { cmd: "_minion_event", pretag: null, data: `Minion ${id} started`, tag: `salt/minion/${id}/start` };
    await this.#probe.ask(this.#probe.seal(event));
  }

  close(): void {
    this.#isClosed = true;
    this.#probe.close();
    this.#connection.close();
  }

  #read(frame: Buffer): ValueMap | undefined {
    try {
      const load = decode(this.#probe.keys.aes.crypticle.open(decodePublish(frame).load)) as ValueMap;
      const [target, jid] = [load.get("tgt"), String(load.get("jid"))];
      const isMine = Array.isArray(target) ? target.includes(this.id) : compileGlob(String(target)).matches(this.id);
      if (!isMine || this.#known.has(jid)) return undefined;
      this.#known.add(jid);
      return load;
    } catch (error) {
      if (hasCode(error, "CRYPTO_BAD_MAC")) return undefined;
      throw error;
    }
  }

  async #run(load: ValueMap): Promise<void> {
    const [jid, fun] = [String(load.get("jid")), String(load.get("fun"))];
    if (fun === "test.ping") return await this.#return(load, true);
    if (fun === "saltutil.find_job") {
      const asked = String((load.get("arg") as Value[])[0]);
      return await this.#return(load, this.#running.has(asked) ? new Map<string, string>([["jid", asked]]) : {});
    }
    this.ran.push(jid);
    this.#running.add(jid);
    await this.#work();
    this.#running.delete(jid);
    await this.#return(load, "done");
  }

  /** Sends the return until a master acknowledges it. */
  async #return(load: ValueMap, value: Encodable): Promise<void> {
    const [jid, fun] = [String(load.get("jid")), String(load.get("fun"))];
    const told = { ...this.#probe.returnLoad(jid), fun, fun_args: load.get("arg") ?? [], return: value };
    for (let tries = 0; tries < returnTriesMax && !this.#isClosed; tries += 1) {
      try {
        await this.#probe.ask(this.#probe.seal(told));
        return;
      } catch {
        await pause(returnRetryMs);
      }
    }
  }
}
