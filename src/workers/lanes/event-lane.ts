/** The lane of `event_return`: decodes events and writes them to the returners. It runs at a low priority, and nothing waits for it. */
import { isMainThread, workerData } from "node:worker_threads";
import { EventReturning } from "../../databases/events/returning.ts";
import { SaltworksError } from "../../errors.ts";
import { servedNames } from "../../sidecar/availability.ts";
import { sidecarSettings } from "../../sidecar/settings.ts";
import { answerForMeasures } from "../measures/lane-measures.ts";
import type { EventStart, EventTask, EventTaskAnswer } from "../messages/lanes.ts";
import { PythonEvents } from "../python-events.ts";
import type { LaneStart } from "../threads/lane-pool.ts";
import { nameLaneThread } from "../threads/name.ts";
import { yieldToOthers } from "../threads/priority.ts";
import { countTurns } from "../threads/turns.ts";

if (isMainThread) throw new SaltworksError("WORKER_LOST", "workers/lanes/event-lane.ts runs in a worker thread only");

const { config, environment, startedThreads, turns } = workerData as EventStart & LaneStart;
const thread = nameLaneThread("events", startedThreads);
answerForMeasures(thread);
yieldToOthers();
countTurns(turns);
let returning: EventReturning | undefined;

export default async function handle(task: EventTask): Promise<EventTaskAnswer> {
  // Opened at the first task. If it were opened as the thread starts, a failure would leave the task without an answer.
  returning ??= new EventReturning(config, ofPython());
  if (task.kind === "take") returning.take(task.frames);
  if (task.kind === "finish") await returning.finish(task.withinMs);
  return { thread, ...returning.states() };
}

/** Returners of the site's own Python. */
function ofPython(): readonly PythonEvents[] {
  const { sitePython } = config;
  if (sitePython === undefined) return [];
  const settings = sidecarSettings(config, sitePython, environment);
  return servedNames(config, "event_return").map((name) => new PythonEvents(name, settings));
}
