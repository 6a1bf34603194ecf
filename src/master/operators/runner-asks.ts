/**
 * Answers the questions that runner and wheel functions ask the main thread, one line for each. `MasterAccess` in
 * runners/contract/contract.ts is their side.
 */
import type { MessagePort } from "node:worker_threads";
import { hasCode } from "../../errors.ts";
import type { ForgottenFacts, MasterAccess, RunnerCaller } from "../../runners/contract/contract.ts";
import type { AskedTarget } from "../../target/asked-target.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import { packedEntries } from "../../wire/pick.ts";
import type { Encodable, Value } from "../../wire/values.ts";
import type { RunJobAnswer, RunJobAsk, RunnerAnswer, RunnerAsk } from "../../workers/messages/runner.ts";
import type { Partitioner } from "../../workers/threads/partition.ts";
import type { WorkerPool } from "../../workers/threads/worker-pool.ts";
import type { Batches } from "../batch-jobs/batches.ts";
import type { Jobs } from "../jobs/jobs.ts";
import type { JobTracker } from "../jobs/tracker.ts";
import { nothingOf } from "../pillars/kept.ts";
import type { Pillars } from "../pillars/pillars.ts";
import { ownJob } from "../publish/own-job.ts";
import type { Fire, Publisher } from "../publish/publisher.ts";
import type { Targets } from "../publish/targets.ts";
import type { Reactor } from "../reactor/reactor.ts";
import type { Copies } from "../upkeep/copies.ts";
import type { Authorisation } from "./authorisation.ts";
import { jobStatus, openJobs, pendingJobs } from "./job-status.ts";
import type { RunnerCalls } from "./runner-calls.ts";

export type RunnerAsksOptions = {
  readonly publisher: Publisher;
  readonly tracker: JobTracker;
  readonly jobs: Jobs;
  readonly pool: WorkerPool;
  readonly targets: Targets;
  readonly partitioner: Partitioner;
  readonly pillars: Pick<Pillars, "show" | "kept">;
  readonly fire: Fire;
  readonly fireForOperator: Fire;
  readonly connected: () => readonly string[];
  readonly counters: () => Promise<Encodable>;
  readonly copies: () => Pick<Copies, "status" | "migration" | "jobShipping">;
  readonly calls: Pick<RunnerCalls, "list">;
  readonly reactor: () => Pick<Reactor, "manage">;
  readonly user: string;
  readonly batches: Pick<Batches, "states" | "control">;
  readonly authorisation: Pick<Authorisation, "makeToken" | "removeToken">;
};

type Question<Name extends keyof MasterAccess> = Name extends "runJob" ? RunJobAsk : Parameters<MasterAccess[Name]>[0];
type Answer<Name extends keyof MasterAccess> = Name extends "runJob"
  ? RunJobAnswer
  : Awaited<ReturnType<MasterAccess[Name]>>;
/** One answer for each name of `MasterAccess`. */
export type RunnerAsks = {
  readonly [Name in keyof MasterAccess]: (
    question: Question<Name>,
    caller: RunnerCaller,
  ) => Promise<Answer<Name>> | Answer<Name>;
};

export function runnerAsks(options: RunnerAsksOptions): RunnerAsks {
  const { pool, partitioner, pillars } = options;
  return {
    runJob: (request) => runJob(options, request),
    connected: () => [...options.connected()],
    counters: () => options.counters(),
    cacheStatus: () => options.copies().status(),
    retryDatabase: () => options.copies().jobShipping.retry(),
    migrate: (names) => options.copies().migration.start(names),
    migration: () => options.copies().migration.status(),
    runningCalls: () => options.calls.list(),
    reactor: (question) => options.reactor().manage(question),
    match: (question) => match(options.targets, { ...question, delimiter: ":" }),
    // Stays packed: progress of a function may show what minions returned.
    fire: async ({ tag, data, isOperators }) =>
      (isOperators === true ? options.fireForOperator : options.fire)(tag, packedEntries(data)),
    forget: (facts) => forget(pool, partitioner, facts),
    renderPillar: async (question) => {
      const { record, faults } = await pillars.show({ ...question, override: undefined });
      return { pillar: record, faults };
    },
    keptPillar: async ({ id, pillarenv, isForgotten }) => {
      if (isForgotten) await pillars.kept.forget(id);
      return isForgotten ? undefined : (await pillars.kept.find({ ...nothingOf(id), pillarenv }))?.record;
    },
    batches: () => options.batches.states(),
    openJobs: () => openJobs(options.jobs, options.batches.states()),
    jobStatus: (question) => jobStatus(options.jobs, question, Date.now()),
    pendingJobs: ({ jid }) => pendingJobs(options.jobs, jid),
    cancelPending: ({ jid, minion }) => options.jobs.deliveries.cancel(jid, minion),
    controlBatch: ({ action, jid }, { user }) => options.batches.control(action, jid, user),
    makeToken: async ({ expireSeconds, ...credential }) => {
      const made = await options.authorisation.makeToken(credential, expireSeconds);
      return made && encode(made, "bin");
    },
    removeToken: ({ token }) => options.authorisation.removeToken(token),
  };
}

/** Answers over the call's port; never throws. */
export async function answerRunner(
  asks: RunnerAsks,
  port: MessagePort,
  ask: RunnerAsk,
  caller: RunnerCaller,
): Promise<void> {
  let answer: RunnerAnswer;
  try {
    // Name and question come from the same line of `askThrough`, where the compiler has checked them.
    const handler = asks[ask.name] as (question: unknown, caller: RunnerCaller) => unknown;
    answer = { id: ask.id, ok: true, value: await handler(ask.question, caller) };
  } catch (error) {
    const code = hasCode(error, "QUEUE_FULL") ? "QUEUE_FULL" : "FUNCTION_FAILED";
    answer = { id: ask.id, ok: false, code, message: (error as Error).message };
  }
  port.postMessage(answer);
}

/** Unlike `Targets.expected` it refuses a malformed target. @throws SaltworksError TARGET_INVALID */
async function match(targets: Targets, asked: AskedTarget): Promise<readonly string[]> {
  const target = targets.written(asked);
  targets.parse(target);
  return (await targets.expected(target)).minions.texts();
}

/** Publishes a job as the master itself, and resolves when it is over. */
function runJob({ publisher, tracker, user }: RunnerAsksOptions, ask: RunJobAsk): Promise<RunJobAnswer> {
  const target = decode(ask.target) as string | string[];
  const job = ownJob(ask.fun, decode(ask.arg) as Value[], target, ask.targetKind, user);
  return new Promise((resolve, reject) => {
    const returns: { id: string; body: Uint8Array }[] = [];
    const published = publisher.publish(job, ({ jid, minions }) =>
      tracker.follow({
        jid,
        minions,
        timeoutMs: ask.timeoutMs,
        gatherTimeoutMs: ask.gatherTimeoutMs,
        onReturn: (id, body) => returns.push({ id, body: Uint8Array.from(body()) }),
        onDone: (_, silent) => {
          // Those of lower masters become known while the job runs.
          const all = new Set([...minions.texts(), ...returns.map(({ id }) => id), ...silent.keys()]);
          resolve({ jid, minions: [...all], returns, silent: Object.fromEntries(silent) });
        },
      }),
    );
    published.then((outcome) => {
      if (outcome === undefined) resolve({ jid: "", minions: [], returns: [], silent: {} });
    }, reject);
  });
}

/** Makes each worker forget the facts of its own minions, in the store and for targeting. */
async function forget(pool: WorkerPool, partitioner: Partitioner, facts: ForgottenFacts): Promise<number> {
  const bySlot = new Map<number, string[]>();
  for (const id of facts.ids) {
    const slot = partitioner.slotOf(id, pool.slotCount);
    const ids = bySlot.get(slot);
    if (ids === undefined) bySlot.set(slot, [id]);
    else ids.push(id);
  }
  const counts = await Promise.all(
    [...bySlot].map(([slot, ids]) =>
      pool.offer<number>(slot, {
        bytes: 0,
        build: () => ({ task: { kind: "forgetFacts", ...facts, ids }, transfer: [] }),
      }),
    ),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
