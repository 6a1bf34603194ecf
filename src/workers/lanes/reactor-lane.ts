/** The lane that renders the reactor's files: events with their files ─▶ requests that the main thread starts. It runs at a low priority. */
import { isMainThread, workerData } from "node:worker_threads";
import { hasCode, SaltworksError } from "../../errors.ts";
import { pillarSettings } from "../../pillar/input/settings.ts";
import { ReactionRenderer } from "../../pillar/reactor/reactions.ts";
import { decode } from "../../wire/msgpack.ts";
import type { ValueMap } from "../../wire/values.ts";
import { answerForMeasures } from "../measures/lane-measures.ts";
import {
  type Reaction,
  type ReactorAnswer,
  type ReactorEvent,
  type ReactorStart,
  type ReactorTask,
  reactorUser,
} from "../messages/reactor.ts";
import { askThrough, sitePythonOf } from "../python-line.ts";
import { reactionOf } from "../reactor/reaction.ts";
import type { LaneStart } from "../threads/lane-pool.ts";
import { nameLaneThread } from "../threads/name.ts";
import { yieldToOthers } from "../threads/priority.ts";

if (isMainThread) throw new SaltworksError("WORKER_LOST", "workers/lanes/reactor-lane.ts runs in a worker thread only");

const { config, startedThreads } = workerData as ReactorStart & LaneStart;
answerForMeasures(nameLaneThread("reactor", startedThreads));
yieldToOthers();
const python = config.salt_python === false ? undefined : sitePythonOf(config);
const renderer = new ReactionRenderer({ ...pillarSettings(config), python }, config.id);

export default function handle({ events, line }: ReactorTask): readonly ReactorAnswer[] {
  try {
    return events.map((event) => {
      python?.begin(askThrough(line));
      const answer = answerOf(event);
      return python?.wasNeeded === true ? { ...answer, reactions: [], faults: [], needsPython: true } : answer;
    });
  } finally {
    line?.port.close();
  }
}

function answerOf({ tag, data: packed, files }: ReactorEvent): ReactorAnswer {
  let data: ValueMap;
  try {
    const decoded = decode(packed);
    if (!(decoded instanceof Map)) throw new SaltworksError("WIRE_MALFORMED", "event data that is not a map");
    data = decoded;
  } catch (error) {
    return { isOwn: false, reactions: [], faults: [`the event cannot be read: ${(error as Error).message}`] };
  }
  if (data.get("user") === reactorUser) return { isOwn: true, reactions: [], faults: [] };
  const { chunks, faults } = renderer.reactions(tag, data, files);
  const told = [...faults];
  const reactions = chunks.flatMap((chunk) => madeOf(chunk, told));
  return { isOwn: false, reactions, faults: told };
}

function madeOf(chunk: ValueMap, faults: string[]): readonly Reaction[] {
  try {
    return [reactionOf(chunk, python !== undefined)];
  } catch (error) {
    if (!hasCode(error, "FUNCTION_ARGUMENTS")) throw error;
    const [id, kind, fun, sls] = ["__id__", "state", "fun", "__sls__"].map((name) => String(chunk.get(name)));
    faults.push(`Reactor '${id}' failed to execute ${kind} '${fun}' of ${sls}: ${(error as Error).message}`);
    return [];
  }
}
