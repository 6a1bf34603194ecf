/**
 * The publishes of a cluster's member: each goes into the sequence of jobs, and comes back from it, as the ones of other members do. Then it is
 * stored, announced and sent here. So a job that the sequence refuses leaves no trace, and serials rise for every minion.
 */
import type { Logger } from "pino";
import type { TakenJob } from "../../cluster/jobs/reader.ts";
import type { JobKind, ReceivedJob } from "../../cluster/jobs/record.ts";
import type { TextList } from "../../wire/text-list.ts";
import type { Encodable } from "../../wire/values.ts";
import { RefusedLoads, type StoredLoad } from "./refused-loads.ts";
import type { JobSequence } from "./sequence.ts";
import type { Targets } from "./targets.ts";

type Fire = (tag: string, data: { readonly [key: string]: Encodable } | ReadonlyMap<Encodable, Encodable>) => void;

/** A job of the sequence, told before it is sent. */
export type ToldJob = {
  readonly kind: JobKind;
  readonly jid: string;
  readonly minions: TextList;
  readonly missing: readonly string[];
  readonly fun: Encodable;
  readonly user: string;
};

export type SharedJobsOptions = {
  readonly sequence: JobSequence;
  readonly targets: Pick<Targets, "expected">;
  /** This member's name. */
  readonly member: string;
  readonly fire: Fire;
  /** Fires an event of another member's job, which only listeners get. */
  readonly fireElsewhere: Fire;
  readonly logger: Logger;
  readonly noteSerial: (serial: number) => void;
  readonly store: (stored: StoredLoad) => Promise<void>;
  /** Seals and sends the fields, the serial among them, in its turn. */
  readonly send: (fields: ReadonlyMap<Encodable, Encodable>, targetKind: string, minions: TextList) => Promise<void>;
  readonly onSent: (jid: string) => void;
};

/** Which jobs the cache and the bus of each member know. */
export const storedKinds: ReadonlySet<JobKind> = new Set(["job", "question"]);

export class SharedJobs {
  readonly #options: SharedJobsOptions;
  readonly #refused: RefusedLoads;
  readonly #listeners: ((job: ToldJob) => Promise<void> | void)[] = [];

  constructor(options: SharedJobsOptions) {
    this.#options = options;
    this.#refused = new RefusedLoads(options);
    options.sequence.deliverTo((job) => this.#take(job));
  }

  /** Jobs that this member's job cache does not get. */
  get unstored(): number {
    return this.#refused.lost;
  }

  /** Tries once more to store what was refused. The workers must still answer. */
  async close(): Promise<void> {
    await this.#refused.close();
  }

  onTaken(listener: (job: ToldJob) => Promise<void> | void): void {
    this.#listeners.push(listener);
  }

  async #take(job: ReceivedJob): Promise<TakenJob> {
    const { targets, store } = this.#options;
    const { jid, load, missing, isReturnless } = job;
    const minions = job.minions ?? (await targets.expected(job)).minions;
    const send = (isFresh: boolean) => this.#send(job, minions, isFresh);
    if (load === undefined) return { send };
    const toStore = { jid, load, minions, missing, isReturnless };
    try {
      await store(toStore);
      return { send };
    } catch (error) {
      // The other members send it, so that this member's minions must get it, too.
      return { send, stored: this.#refused.add(toStore, error) };
    }
  }

  async #send(job: ReceivedJob, minions: TextList, isFresh: boolean): Promise<void> {
    const { noteSerial, send, onSent } = this.#options;
    const { kind, jid, fields, missing, serial, targetKind } = job;
    const [fun, arg, user] = [fields.get("fun"), fields.get("arg"), fields.get("user")];
    // A member that was away does not announce old jobs.
    const isShown = isFresh && storedKinds.has(kind);
    const fire = job.member === this.#options.member ? this.#options.fire : this.#options.fireElsewhere;
    if (isShown) {
      fire(jid, { minions: minions.packed });
      const told = { jid, tgt_type: targetKind, tgt: job.target, user, fun, arg, minions: minions.packed, missing };
      fire(`salt/job/${jid}/new`, told);
    }
    for (const listener of this.#listeners)
      await listener({ kind, jid, minions, missing, fun: fun ?? "", user: String(user ?? "") });
    try {
      noteSerial(serial);
    } catch (error) {
      // It serves the time after the cluster. This member's minions must get the job also while `pki_dir` is full.
      this.#options.logger.error({ err: error, jid }, "the serial of a job of the cluster could not be noted");
    }
    if (!isFresh) return;
    if (isShown) fire(`salt/job/${jid}/publish`, new Map(fields));
    await send(fields.set("serial", serial), targetKind, minions);
    onSent(jid);
  }
}
