/** Runner `reactor`: shows and changes the reactor's entries of a running master. They last until its end. */
import { SaltworksError } from "../../errors.ts";
import { isTrue } from "../../python/values.ts";
import { decode } from "../../wire/msgpack.ts";
import type { Encodable, ValueMap } from "../../wire/values.ts";
import { parametersOf, textArgument } from "../contract/arguments.ts";
import type { ReactorQuestion, RunnerContext, RunnerFunction } from "../contract/contract.ts";
import { masterOf } from "../contract/run-job.ts";

async function ask(context: RunnerContext, question: ReactorQuestion): Promise<Encodable> {
  return decode(await masterOf(context).reactor(question));
}

function add(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const reactors = args.get("reactors") ?? [];
  const files = Array.isArray(reactors) ? reactors : [reactors];
  if (!files.every((file) => typeof file === "string"))
    throw new SaltworksError("FUNCTION_ARGUMENTS", "add() needs a path, or a list of paths", {});
  return ask(context, { action: "add", event: textArgument(args, "event"), reactors: files });
}

export const reactorRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "reactor.list",
    {
      parameters: parametersOf("saltenv", "test"),
      doc: "Shows the reactor's entries: tags of events, each with its files.",
      run: (context) => ask(context, { action: "list" }),
    },
  ],
  [
    "reactor.add",
    {
      parameters: parametersOf("event!", "reactors!", "saltenv", "test"),
      doc: "Adds an entry: files that start when an event has this tag (a glob). Until the master's end.",
      run: add,
    },
  ],
  [
    "reactor.delete",
    {
      parameters: parametersOf("event!", "saltenv", "test"),
      doc: "Removes the first entry of this tag. Until the master's end.",
      run: (context, args) => ask(context, { action: "delete", event: textArgument(args, "event") }),
    },
  ],
  [
    "reactor.is_leader",
    {
      parameters: [],
      doc: "Whether the reactor obeys events.",
      run: (context) => ask(context, { action: "is_leader" }),
    },
  ],
  [
    "reactor.set_leader",
    {
      parameters: parametersOf("value"),
      doc: "Makes the reactor obey events, or with value=False ignore them. Until the master's end.",
      run: (context, args) => ask(context, { action: "set_leader", isLeader: isTrue(args.get("value") ?? true) }),
    },
  ],
]);
