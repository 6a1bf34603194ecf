/** The functions of the master that a batch job calls, and its ping, which finds the connected minions. */
import type { Logger } from "pino";
import type { Encodable, ValueMap } from "../../wire/values.ts";
import type { FollowOptions } from "../jobs/followed.ts";
import type { Fire, Job, Published } from "../publish/publisher.ts";
import { syndicFieldNames } from "../publish/syndic-fields.ts";
import type { BatchLogs } from "./sharing.ts";

export type BatchTimes = { readonly timeoutMs: number; readonly gatherTimeoutMs: number };

/** The functions of the master that a batch job calls. */
export type BatchEffects = {
  readonly publish: (job: Job, onAccepted?: (published: Published) => void) => Promise<Published | undefined>;
  /** Resolves when the kernel has what was published; false if that is not known. */
  readonly untilWritten: () => Promise<boolean>;
  /** Lower masters may have the minions of a step, which have no key here. */
  readonly hasLowerMasters?: boolean;
  readonly newJid: () => string;
  /** Stores the load of a job that is not sent itself. */
  readonly record: (job: Job, published: Published) => Promise<void>;
  readonly follow: (options: FollowOptions) => void;
  /** The job that a stored load asks for. */
  readonly readJob: (load: ValueMap, user: string) => Job;
  /** Stored exit codes of a job's returns, by minion. */
  readonly retcodes: (jid: string) => Promise<ReadonlyMap<string, number>>;
  readonly fire: Fire;
  readonly logger: Logger;
  readonly directory: string;
  readonly logs: BatchLogs;
  /** `nowMs`: the wall clock. `steadyMs`: a monotonic clock. */
  readonly nowMs: () => number;
  readonly steadyMs?: () => number;
  /** Called when the batch job is over or has failed. */
  readonly onOver: () => void;
};

export type PingAnswers = { readonly answered: readonly string[]; readonly absent: readonly string[] };

/** A `test.ping` to the target of a job. */
export class Ping {
  /** Resolves when all minions have answered or been given up. */
  readonly over: Promise<PingAnswers>;
  readonly #job: Job;
  readonly #times: BatchTimes;
  readonly #effects: BatchEffects;
  readonly #answered = new Set<string>();
  #end: (answers: PingAnswers) => void = () => undefined;

  constructor(job: Job, times: BatchTimes, effects: BatchEffects) {
    const { target, targetKind, user } = job;
    const load = new Map<Encodable, Encodable>([
      ["cmd", "publish"],
      ["tgt", target],
      ["fun", "test.ping"],
      ["arg", []],
      ["tgt_type", targetKind],
      ["ret", ""],
      ["jid", ""],
      ["user", user],
    ]);
    const names: readonly string[] = syndicFieldNames;
    const publishFields = new Map([...job.publishFields].filter(([name]) => names.includes(name)));
    this.#job = { ...job, fun: "test.ping", arg: [], ret: "", jid: undefined, load, publishFields };
    this.#times = times;
    this.#effects = effects;
    this.over = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  send(): Promise<Published | undefined> {
    return this.#effects.publish(this.#job, ({ jid, minions }) =>
      this.#effects.follow({
        jid,
        minions,
        ...this.#times,
        onReturn: (id) => this.#answered.add(id),
        onDone: (_, silent) => this.#end({ answered: [...this.#answered], absent: [...silent.keys()] }),
      }),
    );
  }
}
