/** Runners `event` and `state.event`: fire events on the master's bus, and show them. */
import { SaltworksError } from "../../errors.ts";
import { encode } from "../../wire/msgpack.ts";
import type { Encodable, ValueMap } from "../../wire/values.ts";
import { parametersOf, textArgument } from "../contract/arguments.ts";
import type { RunnerContext, RunnerFunction } from "../contract/contract.ts";
import { masterOf } from "../contract/run-job.ts";

async function send(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const data = args.get("data") ?? new Map();
  if (!(data instanceof Map)) throw new SaltworksError("FUNCTION_ARGUMENTS", "send() needs a map of data", {});
  await masterOf(context).fire({ tag: textArgument(args, "tag"), data: encode(data, "bin"), isOperators: true });
  return true;
}

export const eventRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "event.send",
    { parameters: parametersOf("tag!", "data"), doc: "Fires an event with this tag and map of data.", run: send },
  ],
  [
    "state.event",
    {
      parameters: parametersOf("tagmatch", "count", "quiet", "sock_dir", "pretty", "node"),
      doc: "Shows events as they arrive, tag and JSON. tagmatch is a glob; count=N ends it after N events; pretty=True indents.",
      run: () => {
        throw new SaltworksError(
          "FUNCTION_FAILED",
          "the command line shows events: run state.event there, or follow the event bus",
        );
      },
    },
  ],
]);
