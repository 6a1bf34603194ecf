/**
 * The source `ext_nodes` of `master_tops`: a command tells the states of a minion's highstate. Source: Salt 3007's module of that name, observed.
 */
import { shellWords } from "../../wire/shell-words.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { isPlainId } from "../external/commands.ts";
import type { SourceOutcome } from "../external/contract.ts";
import type { Environment, RunProgram } from "../external/programs/run-program.ts";
import { runCommand } from "../external/run-sources.ts";
import { loadYaml } from "../input/yaml.ts";

/** The command of `master_tops: {ext_nodes: COMMAND}`; undefined if there is none. */
export function extNodesOf(masterTops: Readonly<Record<string, unknown>>): string | undefined {
  const { ext_nodes: command } = masterTops;
  return typeof command === "string" && command.trim() !== "" ? command : undefined;
}

/** SLS files by environment. As in Salt, a command that fails gives none, and the log says why. */
export type FoundTops = { readonly states: ValueMap; readonly fault?: string };

/** Runs the command without a shell, with the minion's id as its last argument. */
export async function extNodes(
  command: string,
  id: string,
  environment: Environment,
  limits: { readonly timeoutMs: number; readonly programs?: RunProgram },
): Promise<FoundTops> {
  const words = shellWords(command);
  if ("fault" in words) return failed(words.fault);
  const [program, ...rest] = words;
  if (program === undefined) return failed("the command is empty");
  if (!isPlainId(id)) return failed("the minion's id holds characters that a command must not be given");
  return foundIn(await runCommand({ argv: [program, ...rest, id] }, environment, limits));
}

function failed(fault: string): FoundTops {
  return { states: new Map(), fault };
}

function foundIn(outcome: SourceOutcome): FoundTops {
  if ("fault" in outcome) return failed(outcome.fault);
  if (!("stdout" in outcome)) return failed("the command left no output");
  const { stdout, exitCode, complaint } = outcome;
  if (exitCode !== 0) return failed(`the command ended with ${exitCode}${complaint === "" ? "" : `: ${complaint}`}`);
  try {
    return { states: statesOf(loadYaml(stdout)) };
  } catch {
    // The parser's message may quote what the command wrote.
    return failed(`YAML data of the command failed to parse (${stdout.length} characters)`);
  }
}

/** `classes`: a list, or a map whose keys count. `environment`: by default `base`. */
function statesOf(data: Value): ValueMap {
  if (!(data instanceof Map)) return new Map();
  const classes = data.get("classes");
  const environment = data.has("environment") ? (data.get("environment") ?? null) : "base";
  if (classes instanceof Map) return new Map([[environment, [...classes.keys()]]]);
  return Array.isArray(classes) ? new Map([[environment, classes]]) : new Map();
}
