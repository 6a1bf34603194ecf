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

const orchestrations: readonly (readonly [name: string, parameters: readonly string[], doc: string])[] = [
  [
    "orchestrate",
    ["mods!", "saltenv", "test", "exclude", "pillar", "pillarenv", "pillar_enc", "orchestration_jid"],
    "Runs SLS files on the master's machine; their states salt.state, salt.function, salt.runner and others act on the fleet.",
  ],
  ["orchestrate_single", ["fun!", "name!", "test", "queue", "pillar"], "Runs one state of an orchestration."],
  [
    "orchestrate_show_sls",
    ["mods!", "saltenv", "test", "queue", "pillar", "pillarenv", "pillar_enc"],
    "The compiled SLS files of an orchestration, without running them.",
  ],
];

/** `state.orch` and `state.sls` are other names of `state.orchestrate`. */
const orchestrationRunner = orchestrations.flatMap(([short, parameters, doc]): [string, RunnerFunction][] =>
  (short === "orchestrate" ? [short, "orch", "sls"] : [short]).map((name) => [
    `state.${name}`,
    {
      parameters: parametersOf(...parameters),
      ...(short === "orchestrate_single" ? { takes: "keywords" as const } : {}),
      doc,
      run: () => {
        throw new SaltworksError("FUNCTION_FAILED", "an orchestration runs in a process of its own");
      },
    },
  ]),
);
/** Runners that the master, like the command line, runs in a process of their own. */
export const orchestrationNames: ReadonlySet<string> = new Set(orchestrationRunner.map(([name]) => name));

export const eventRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "event.send",
    { parameters: parametersOf("tag!", "data"), doc: "Fires an event with this tag and map of data.", run: send },
  ],
  ...orchestrationRunner,
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
