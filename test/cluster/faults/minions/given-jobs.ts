/** The jobs that a minion under faults was given: what it runs, what it owes a master for them, and what came that should not have. */
import type { Publish } from "../../../../bench/fleet/publish-reader.ts";
import type { Random } from "../../../../bench/load/random.ts";
import type { Encodable } from "../../../../src/wire/values.ts";

/** A return that no member has acknowledged. */
export type Owed = {
  readonly jid: string;
  readonly fun: string;
  readonly args: readonly Encodable[];
  readonly value: Encodable;
  readonly retcode: number;
};
export type Run = { readonly jid: string; readonly atMs: number };

type Given = { readonly aes: string; readonly number: number; acknowledgedMs: number };

/** Salt's `minion_jid_queue_hwm`. */
const jobsKept = 100;
/** A job that has an owner may be sent again until the owner has the return: so long after its acknowledgement at most. */
const resentMs = 25_000;
const labelledRunMs = 1_500;
const failureShare = 0.1;

export class GivenJobs {
  readonly faults: string[] = [];
  /** Jobs whose return a member acknowledged. */
  readonly acknowledged = new Set<string>();
  /** What it ran of each batch job and waiting job, by the label in its arguments. */
  readonly runs = new Map<string, Run[]>();
  readonly owed = new Map<string, Owed>();
  /** `repeated`: jobs that it had had. `resent`: the ones that have an owner. `forgotten`: the ones that a stock minion would have run again. */
  readonly counters = { repeated: 0, resent: 0, forgotten: 0 };
  readonly #id: string;
  readonly #random: Random;
  readonly #given = new Map<string, Given>();
  readonly #running = new Set<string>();
  #count = 0;

  constructor(id: string, random: Random) {
    this.#id = id;
    this.#random = random;
  }

  /** Jobs that it runs, or has run and whose return no member has acknowledged yet. */
  get unfinished(): number {
    let owed = 0;
    for (const { fun } of this.owed.values()) if (fun === "cmd.run") owed += 1;
    return owed + this.#running.size;
  }

  /** A publish for this minion. `aes`: the key under which it came. */
  take({ jid, fun, arg }: Publish, aes: string): void {
    if (typeof fun !== "string") return;
    const label = fun === "cmd.run" ? String(arg[1] ?? "") : "";
    const had = this.#given.get(jid);
    if (had !== undefined) {
      this.#noteRepeated(jid, label, had, aes);
      return;
    }
    this.#count += 1;
    this.#given.set(jid, { aes, number: this.#count, acknowledgedMs: Number.POSITIVE_INFINITY });
    if (fun === "cmd.run") this.#run(jid, label, arg);
    else this.owed.set(jid, { jid, fun, args: arg, value: this.#answer(fun, String(arg[0])), retcode: 0 });
  }

  acknowledge({ jid, fun }: Owed): void {
    this.owed.delete(jid);
    if (fun !== "cmd.run") return;
    this.acknowledged.add(jid);
    const given = this.#given.get(jid);
    if (given !== undefined) given.acknowledgedMs = performance.now();
  }

  #run(jid: string, label: string, args: readonly Encodable[]): void {
    const done = { jid, fun: "cmd.run", args, value: "x".repeat(200) };
    if (label === "") {
      this.owed.set(jid, { ...done, retcode: 0 });
      return;
    }
    const retcode = args[0] === "sometimes" && this.#random() < failureShare ? 1 : 0;
    const runs = this.runs.get(label) ?? [];
    this.runs.set(label, [...runs, { jid, atMs: performance.now() }]);
    this.#running.add(jid);
    setTimeout(() => {
      this.#running.delete(jid);
      this.owed.set(jid, { ...done, retcode });
    }, this.#random() * labelledRunMs);
  }

  #answer(fun: string, asked: string): Encodable {
    if (fun !== "saltutil.find_job") return true;
    return this.#running.has(asked) ? new Map([["jid", asked]]) : {};
  }

  /**
   * Drops a job that it has had, as a stock minion does: under a new AES key serials begin anew, so that a member that was behind may send a job that
   * another one has sent under the former key. Under one key that must not happen, but for a job whose owner lacks the return.
   */
  #noteRepeated(jid: string, label: string, had: Given, aes: string): void {
    this.counters.repeated += 1;
    if (this.#count - had.number >= jobsKept) this.counters.forgotten += 1;
    if (label === "") {
      if (had.aes === aes) this.faults.push(`${this.#id} was given job ${jid} twice under one key`);
      return;
    }
    this.counters.resent += 1;
    const sinceMs = performance.now() - had.acknowledgedMs;
    if (sinceMs > resentMs)
      this.faults.push(`${this.#id} was given ${label} again, job ${jid}, ${Math.round(sinceMs)} ms after its return`);
  }
}
