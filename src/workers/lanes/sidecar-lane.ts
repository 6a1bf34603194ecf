/** The lane that keeps the Python processes of the sidecar. Its one thread waits for many of them, so that no other thread does. */
import { isMainThread, workerData } from "node:worker_threads";
import { SaltworksError } from "../../errors.ts";
import { runnerTaskTimeoutMs } from "../../limits.ts";
import { packedAnswer } from "../../runners/contract/answer.ts";
import type { OnSidecarEvent, SidecarEvent } from "../../sidecar/contract.ts";
import { type AskOutcome, failureOf, outcomeOf } from "../../sidecar/outcome.ts";
import { Sidecar } from "../../sidecar/sidecar.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { Complaints } from "../complaints.ts";
import { answerForMeasures } from "../measures/lane-measures.ts";
import type {
  CallEvent,
  CallTask,
  SidecarLook,
  SidecarLookAnswer,
  SidecarResult,
  SidecarStart,
  SidecarTask,
} from "../messages/sidecar.ts";
import type { LaneStart } from "../threads/lane-pool.ts";
import { nameLaneThread } from "../threads/name.ts";
import { countTurns } from "../threads/turns.ts";

if (isMainThread) throw new SaltworksError("WORKER_LOST", "workers/lanes/sidecar-lane.ts runs in a worker thread only");

const { config, environment, startedThreads, turns } = workerData as SidecarStart & LaneStart;
answerForMeasures(nameLaneThread("sidecar", startedThreads));
countTurns(turns);
const complaints = new Complaints();
const sidecar = new Sidecar(config, environment, (text) => complaints.add(text));

export default async function handle(task: SidecarTask): Promise<AskOutcome | SidecarResult | SidecarLookAnswer> {
  if (task.kind === "look") return look(task);
  if (task.kind === "call") return await call(task);
  try {
    const { value } = await sidecar.ask(task.request, task.timeoutMs);
    return outcomeOf(value);
  } catch (error) {
    return failureOf(error);
  }
}

/** Figures, and what Python wrote to its standard error since the last look. */
function look({ isForgotten }: SidecarLook): SidecarLookAnswer {
  if (isForgotten) sidecar.forget();
  return { ...sidecar.state, complaints: complaints.take() };
}

async function call(task: CallTask): Promise<SidecarResult> {
  let events = 0;
  const tell = ({ tag, data }: SidecarEvent) => {
    events += 1;
    task.port.postMessage({ tag, data: encode(data, "bin") } satisfies CallEvent);
  };
  try {
    return { ...(await resultOf(task, tell)), events };
  } finally {
    task.port.close();
  }
}

async function resultOf(
  { fun, args, kwargs, caller }: CallTask,
  tell: OnSidecarEvent,
): Promise<Omit<SidecarResult, "events">> {
  const { kind, jid, tag, user, isByEvent = false } = caller;
  const request = {
    ...{ kind: "call", caller: kind, fun, jid, tag, user },
    ...{ args: decode(args) as Value[], kwargs: decode(kwargs) as ValueMap },
  };
  const packed = (value: Value) => packedAnswer(value, isByEvent, config.max_event_size);
  const failed = (text: string, code?: SidecarResult["code"]): Omit<SidecarResult, "events"> => {
    const told = { value: encode(text, "bin"), reply: encode(text, "raw"), success: false };
    return { ...told, ...(code && { code }), printed: "", isMissing: false };
  };
  try {
    const { value, printed } = await sidecar.ask(request, runnerTaskTimeoutMs, tell);
    if (!(value instanceof Map)) return failed("Python gave no answer of a call");
    if (value.get("is_missing") === true)
      return { ...failed(String(value.get("why")), "FUNCTION_UNKNOWN"), isMissing: true };
    const wrong = value.get("wrong_arguments");
    if (wrong !== undefined)
      return failed(
        `\nPassed invalid arguments: ${String(wrong)}\n\nUsage:\n${String(value.get("doc"))}`,
        "FUNCTION_ARGUMENTS",
      );
    return {
      ...packed(value.get("value") ?? null),
      success: true,
      printed,
      isMissing: false,
    };
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    const { code, message, detail } = error;
    if (code === "SIDECAR_MISSING") return { ...failed(message, code), isMissing: true };
    const told = typeof detail.traceback === "string" && detail.traceback !== "" ? detail.traceback : message;
    return failed(`Exception occurred in ${kind} ${fun}: ${told}`, code);
  }
}
