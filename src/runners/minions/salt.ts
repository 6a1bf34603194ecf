/** Runners `salt` and `mine.update`: execution functions on minions, or in the process of the command line. */
import { SaltworksError } from "../../errors.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import { isGivenTrue, parametersOf, secondsArgument, targetArgument, textArgument } from "../contract/arguments.ts";
import type { RunnerContext, RunnerFunction } from "../contract/contract.ts";
import { runJob } from "../contract/run-job.ts";

/** A job's positional and named arguments, in the form that minions read. */
export function jobArguments(positional: readonly Value[], keywords: ValueMap): Encodable[] {
  return keywords.size === 0 ? [...positional] : [...positional, new Map([["__kwarg__", true], ...keywords])];
}

async function execute(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const { config } = context;
  const given = args.get("arg") ?? [];
  const keywords = args.get("kwarg");
  const outcome = await runJob(context, {
    fun: textArgument(args, "fun"),
    arg: jobArguments(Array.isArray(given) ? given : [given], keywords instanceof Map ? keywords : new Map()),
    ...targetArgument(args, ""),
    timeoutMs: secondsArgument(args, "timeout", config.timeout),
  });
  const isWhole = isGivenTrue(args, "full_return");
  const shown = new Map<string, Encodable>();
  for (const [id, value] of outcome.returns)
    shown.set(id, isWhole ? { ret: value, retcode: outcome.retcodes?.get(id) ?? 0, jid: outcome.jid } : value);
  return shown;
}

async function updateMines(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const keywords: ValueMap = new Map<Value, Value>([
    ["clear", isGivenTrue(args, "clear")],
    ["mine_functions", args.get("mine_functions") ?? null],
  ]);
  const target = targetArgument(args, "");
  const outcome = await runJob(context, { fun: "mine.update", arg: jobArguments([], keywords), ...target });
  return outcome.returns;
}

export const saltRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "salt.cmd",
    {
      parameters: parametersOf("fun!"),
      takes: "all",
      doc: "Runs an execution function in the process of the command line, as its user.",
      run: () => {
        throw new SaltworksError(
          "FUNCTION_FAILED",
          "execution functions run in minions and in the command line, not in the master: run salt.cmd there",
        );
      },
    },
  ],
  [
    "salt.execute",
    {
      parameters: parametersOf("tgt!", "fun!", "arg", "timeout", "tgt_type", "ret", "jid", "kwarg", "full_return"),
      doc: "Runs a function on minions; their return values by id.",
      run: execute,
    },
  ],
  [
    "mine.update",
    {
      parameters: parametersOf("tgt!", "tgt_type", "clear", "mine_functions"),
      doc: "Makes minions send their mines again.",
      run: updateMines,
    },
  ],
]);
