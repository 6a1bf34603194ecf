/** Runner `test`: functions that return their arguments, print, or take time. */
import { setTimeout as delay } from "node:timers/promises";
import { SaltworksError } from "../../errors.ts";
import type { Encodable, ValueMap } from "../../wire/values.ts";
import { parametersOf, textArgument } from "../contract/arguments.ts";
import { print, progress } from "../contract/caller-events.ts";
import type { ExtraArguments, RunnerContext, RunnerFunction } from "../contract/contract.ts";
import { configValues } from "./config.ts";

/** Longest `test.sleep`, seconds. */
const sleepSecondsMax = 86_400;
const streamSteps = 99;
const streamPauseMs = 100;

const words: Readonly<Record<string, readonly string[]>> = {
  us: "foo bar baz qux quux quuz corge grault garply waldo fred plugh xyzzy thud".split(" "),
  uk: "wibble wobble wubble flob".split(" "),
};

function given(isRaw: boolean): RunnerFunction["run"] {
  return (_, __, { positional, keywords }: ExtraArguments) => {
    const kept = [...keywords].filter(([name]) => isRaw || !String(name).startsWith("__"));
    return { args: positional, kwargs: new Map(kept) };
  };
}

async function sleep(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const seconds = args.get("s_time") ?? 10;
  const number = Number(seconds);
  if (!(number >= 0 && number <= sleepSecondsMax))
    throw new SaltworksError("FUNCTION_ARGUMENTS", `sleep() takes 0 to ${sleepSecondsMax} seconds`, {});
  await print(context, String(seconds));
  await delay(number * 1_000);
  return true;
}

async function stream(context: RunnerContext): Promise<Encodable> {
  for (let step = 1; step <= streamSteps; step += 1) {
    await progress(context, { message: `Runner is ${step}% done` });
    await delay(streamPauseMs);
  }
  return true;
}

export const testRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "test.arg",
    {
      parameters: [],
      takes: "all",
      doc: "The arguments as they arrive, without the keywords that Salt adds.",
      isOffline: true,
      run: given(false),
    },
  ],
  [
    "test.raw_arg",
    { parameters: [], takes: "all", doc: "The arguments as they arrive.", isOffline: true, run: given(true) },
  ],
  [
    "test.metasyntactic",
    {
      parameters: parametersOf("locality"),
      doc: "Metasyntactic words of a locale: us or uk.",
      isOffline: true,
      run: (_, args) => words[textArgument(args, "locality", "us")] ?? null,
    },
  ],
  [
    "test.stdout_print",
    {
      parameters: [],
      doc: "Prints foo and returns bar.",
      run: async (context) => {
        await print(context, "foo");
        return "bar";
      },
    },
  ],
  [
    "test.sleep",
    { parameters: parametersOf("s_time"), doc: "Prints the number of seconds and waits that long.", run: sleep },
  ],
  [
    "test.get_opts",
    {
      parameters: [],
      doc: "The master's configuration, without secrets.",
      isOffline: true,
      run: (context) => configValues(context),
    },
  ],
  ["test.stream", { parameters: [], doc: "Fires 99 progress events, ten a second.", run: stream }],
]);
