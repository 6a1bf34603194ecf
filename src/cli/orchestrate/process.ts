/** The process of one orchestration that the master runs. It ends after its answer, and when the master has ended. */
import pino from "pino";
import { ownUserName } from "../../config/host/user.ts";
import { SaltworksError } from "../../errors.ts";
import { logItemsMax } from "../../limits.ts";
import { type PackedAnswer, packedAnswer } from "../../runners/contract/answer.ts";
import { bindArguments, failureText } from "../../runners/contract/call.ts";
import type { OrchestrationAnswer, OrchestrationCall } from "../../runners/contract/orchestration.ts";
import { runnerFunctions } from "../../runners/registry.ts";
import { decode } from "../../wire/msgpack.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { orchestrationFunctions } from "./orchestrate.ts";

async function answerTo(call: OrchestrationCall): Promise<OrchestrationAnswer> {
  const { config, fun, jid, isByEvent } = call;
  const faults: string[] = [];
  const write = (line: string) => {
    if (faults.length < logItemsMax) faults.push(String((JSON.parse(line) as { msg?: string }).msg ?? line));
  };
  const log = pino({ level: "error" }, { write });
  const packed = (value: Value): PackedAnswer => packedAnswer(value, isByEvent, config.max_event_size);
  try {
    const [run, described] = [orchestrationFunctions.get(fun), runnerFunctions.get(fun)];
    if (run === undefined || described === undefined)
      throw new SaltworksError("FUNCTION_UNKNOWN", `'${fun}' is not available.`, { name: fun });
    const { bound, extra } = bindArguments(
      fun,
      described,
      decode(call.args) as Value[],
      decode(call.kwargs) as ValueMap,
    );
    if (!bound.has("orchestration_jid")) bound.set("orchestration_jid", jid);
    const host = { user: ownUserName(), asker: call.user, environment: process.env };
    const { value, isSuccess } = await run({ config, host, log }, bound, extra);
    return { ...packed(value), success: isSuccess && !isFailed(value), faults };
  } catch (error) {
    return { ...packed(failureText(runnerFunctions, "runner", fun, error)), success: false, faults };
  }
}

/** As in Salt, a call in which a state failed has no success. */
function isFailed(value: Value): boolean {
  return value instanceof Map && value.get("outputter") === "highstate" && value.get("retcode") === 1;
}

process.once("message", (call) => {
  void answerTo(call as OrchestrationCall).then((answer) => process.send?.(answer, () => process.exit(0)));
});
process.once("disconnect", () => process.exit(1));
