/** The transcripts of commands that wait, typed side by side while one minion is stopped, comes back, or is interrupted. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { SeenEvent } from "../../interop/event-watch.ts";
import type { GoldenFleet, RunningCommand } from "./fleet.ts";
import { type Decisions, describeTopic, isTyped, type Replay, readTopic, type Transcript } from "./replay.ts";
import { earlyLines } from "./times.ts";

const silent = "es2";
/** From the publish of the job in which a minion is stopped: the minion then has the job, and is far from its end. */
const freezeAfterMs = 2_000;
const thawAfterMs = 9_000;
const interruptAfterMs = 4_000;
const publishedTimeoutMs = 60_000;

/** Typed while every minion answers. */
const whileAllUp = ["all_up", "t1_sleep4", "cmdrun_mixed_durations"];
/** Interrupted with Ctrl-C when the job runs. */
const interruptedOnes = ["ctrl_c", "ctrl_c_batch"];
/** The minion is stopped in the middle of its job. */
const frozenInJob = "freeze_mid_job";
const afterThaw = ["sleep8", "debug_flow"];
const lookups = ["jobs_active_silent", "thaw_late_lookup_before", "thaw_late_lookup_before_missing"];
const handled = new Set([
  ...whileAllUp,
  frozenInJob,
  ...interruptedOnes,
  ...afterThaw,
  ...lookups,
  "thaw_at_9",
  "thaw_late_lookup_after",
]);

const transcripts = new Map(readTopic("timing").map((transcript) => [transcript.name, transcript]));

function found(name: string): Transcript {
  const transcript = transcripts.get(name);
  if (transcript === undefined) throw new Error(name);
  return transcript;
}

export async function typeWaits(fleet: GoldenFleet, replay: Replay, decisions: Decisions): Promise<void> {
  const type = async (name: string): Promise<void> => {
    if (isTyped(`timing:${name}`, decisions)) await replay.type("timing", found(name));
  };

  /** Ctrl-C when the job runs, however long the program takes to start. */
  const interrupt = async (
    name: string,
    untilRunning: (command: RunningCommand) => Promise<unknown>,
  ): Promise<void> => {
    if (!isTyped(`timing:${name}`, decisions)) return;
    const command = fleet.open(found(name).argv);
    await untilRunning(command);
    // Other clients see a job before its own client does. The recorder, too, let a command run for some seconds.
    await delay(interruptAfterMs);
    command.child.kill("SIGINT");
    replay.keep("timing", found(name), await command.done);
  };

  const watch = await fleet.watchEvents();
  const isSleepOf =
    (seconds: number) =>
    ({ tag, data }: SeenEvent) =>
      /\/new$/.test(tag) && `${data.get("tgt")} ${data.get("arg")}` === `es* ${seconds}`;
  const interrupted = [
    interrupt("ctrl_c", () => watch.until("the job to interrupt", isSleepOf(20), publishedTimeoutMs)),
    interrupt("ctrl_c_batch", (command) => command.untilPrinted(/Executing run on \[.*\]/)),
  ];
  await Promise.all(whileAllUp.map(type));
  // On a slow machine the commands above last longer than this job.
  const inJob = type(frozenInJob);
  if (isTyped(`timing:${frozenInJob}`, decisions)) {
    await watch.until("the job of the frozen minion", isSleepOf(9), publishedTimeoutMs);
    await delay(freezeAfterMs);
  }
  fleet.freeze(silent);
  const whileSilent = [...transcripts.keys()].filter((name) => !handled.has(name));
  await Promise.all([...whileSilent.map(type), inJob, ...interrupted]).finally(() => watch.close());
  for (const name of lookups) await type(name);
  const thawed = type("thaw_at_9");
  await delay(thawAfterMs);
  fleet.thaw(silent);
  await thawed;
  await fleet.untilAllAnswer();
  await type("thaw_late_lookup_after");
  await Promise.all(afterThaw.map(type));
}

/** One test per transcript, and one more for each in which Salt waited. */
export function describeWaits(replay: () => Replay, decisions: Decisions): void {
  describeTopic("timing", replay, decisions);
  for (const [name, transcript] of transcripts) {
    const key = `timing:${name}`;
    if (transcript.stdout_timed === undefined || !isTyped(key, decisions)) continue;
    it(`${key}: nothing is given up before Salt gives it up`, () => {
      assert.deepEqual(earlyLines(transcript, replay().result("timing", name)), []);
    });
  }
}
