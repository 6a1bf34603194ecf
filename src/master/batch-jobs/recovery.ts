/**
 * Resumes a batch job after a restart of the master. Waits until its minions have reconnected, then checks each step that was under way: which
 * minions have returned, and which still run it. Sends a step again only if it may not have been sent, under the same job id: minions that have
 * the job ignore it. docs/decisions/0020-batches-in-the-master.md.
 */
import { setTimeout as wait } from "node:timers/promises";
import { hasCode } from "../../errors.ts";
import { batchReconnect } from "../../limits.ts";
import { TextList } from "../../wire/text-list.ts";
import { readFindJobAnswer } from "../jobs/find-job.ts";
import { ownJob } from "../publish/own-job.ts";
import type { BatchJob } from "./job.ts";
import { type BatchTimes, Ping, type PingAnswers } from "./ping.ts";
import type { OpenStep } from "./run.ts";

export async function recoverBatch(batch: BatchJob): Promise<void> {
  const { run } = batch;
  const awaited = run.openSteps().flatMap(({ ids }) => ids);
  const needed = run.isPinged ? [...awaited, ...run.queued()] : undefined;
  const answers = await pingUntilBack(batch, needed);
  if (batch.isClosed) return;
  if (!run.isPinged) batch.beginSteps(run.plan?.ping ?? "", answers);
  await Promise.all(run.openSteps().map((step) => recoverStep(batch, step)));
  batch.release();
}

/** @param needed minions that must answer; undefined for all that the target expects */
async function pingUntilBack(batch: BatchJob, needed: readonly string[] | undefined): Promise<PingAnswers> {
  const times = { timeoutMs: batchReconnect.roundMs, gatherTimeoutMs: 0 };
  const answered = new Set<string>();
  let absent: readonly string[] = [];
  for (let round = 0; round < batchReconnect.rounds && !batch.isClosed; round += 1) {
    if (needed?.every((id) => answered.has(id))) break;
    const ping = await sentPing(batch, times);
    if (ping === undefined) break;
    const heard = await ping.over;
    for (const id of heard.answered) answered.add(id);
    absent = heard.absent.filter((id) => !answered.has(id));
    if (needed === undefined && absent.length === 0) break;
  }
  return { answered: [...answered], absent };
}

/** @returns undefined if the target expects no minion, or the batch job was closed */
async function sentPing(batch: BatchJob, times: BatchTimes): Promise<Ping | undefined> {
  return await onceAnswered(batch, async () => {
    const ping = new Ping(batch.job, times, batch.effects);
    return (await ping.send()) === undefined ? undefined : ping;
  });
}

/**
 * A member of a cluster waits until enough members answer. Without them its lease ends, which closes the batch job.
 *
 * @returns undefined also if the batch job was closed
 */
async function onceAnswered<Result>(batch: BatchJob, step: () => Promise<Result>): Promise<Result | undefined> {
  while (!batch.isClosed) {
    try {
      return await step();
    } catch (error) {
      if (!hasCode(error, "CLUSTER_UNAVAILABLE")) throw error;
      await wait(batchReconnect.roundMs, undefined, { ref: false });
    }
  }
  return undefined;
}

async function recoverStep(batch: BatchJob, { jid, isSent }: OpenStep): Promise<void> {
  const again = isSent ? [] : ((await onceAnswered(batch, () => askIdle(batch, jid))) ?? []);
  await onceAnswered(batch, async () => {
    // Minions whose returns were stored meanwhile do not get the job again.
    await noteStored(batch, jid);
    const idle = again.filter((id) => batch.run.isAwaited(jid, id));
    const awaited = batch.run.awaited(jid);
    if (batch.isClosed || awaited.length === 0) return;
    if (idle.length > 0) await batch.send(jid, idle, true);
    else batch.follow(jid, TextList.of(awaited));
  });
  // Reads the store again, for returns that came before the job was followed.
  await noteStored(batch, jid);
}

async function noteStored(batch: BatchJob, jid: string): Promise<void> {
  for (const [id, retcode] of await batch.effects.retcodes(jid)) batch.noteRetcode(jid, id, retcode);
}

/** Ids of minions that answered find_job and are not running the step. */
async function askIdle(batch: BatchJob, jid: string): Promise<string[]> {
  const { effects, run, times, job } = batch;
  const idle: string[] = [];
  const question = ownJob("saltutil.find_job", [jid], run.awaited(jid), "list", job.user);
  await new Promise<void>((resolve, reject) => {
    const asked = effects.publish(question, (published) =>
      effects.follow({
        jid: published.jid,
        minions: published.minions,
        timeoutMs: times.gatherTimeoutMs,
        gatherTimeoutMs: 0,
        onReturn: (id, body) => {
          const { runsStill, isFault } = readFindJobAnswer(id, body());
          if (!runsStill && !isFault) idle.push(id);
        },
        onDone: () => resolve(),
      }),
    );
    asked.then((published) => {
      if (published === undefined) resolve();
    }, reject);
  });
  return idle;
}
