/**
 * `saltworks run`: a runner function, asked of the master, or of the job cache while the master is down.
 * Source: docs/compatibility.md, the run command.
 */
import { openJobArchive } from "../../client/job-archive.ts";
import { type CommandOutcome, MasterClient } from "../../client/master-client.ts";
import type { MasterConfig } from "../../config/schema.ts";
import { hasCode, type SaltworksError } from "../../errors.ts";
import { runnerFunctions, runRunner } from "../../runners/registry.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { Value } from "../../wire/values.ts";
import { parseArguments } from "../args/words.ts";
import { displayChoice, masterConfig, understand } from "../command-line.ts";
import { Display } from "../display.ts";
import type { Host } from "../host.ts";

type Outcome = Pick<CommandOutcome, "value" | "isSuccess">;

/** These only read what is stored. */
const offlineFunctions: ReadonlySet<string> = new Set([
  "jobs.list_jobs",
  "jobs.list_job",
  "jobs.print_job",
  "jobs.lookup_jid",
]);
const exceptionStart = "Exception occurred in runner";
const argumentsStart = "Passed invalid arguments:";

/** @returns the exit code: 1 after an exception, otherwise 0, as Salt's */
export async function runRun(argv: readonly string[], host: Host): Promise<number> {
  const { options, positionals } = understand("run", argv, host);
  const config = masterConfig(options.configDir, host);
  const display = new Display(displayChoice(options, config), host);
  const [name, ...words] = positionals;
  if (name === undefined) {
    for (const [fun, { doc }] of runnerFunctions) display.line(`${fun}:\n\n    ${doc}\n`);
    return 0;
  }
  const args = parseArguments(words, { noParse: options.noParse?.split(",") ?? [] });
  const outcome = await ask(config, host, name, args);
  if (outcome.isSuccess) {
    if (!options.isQuiet) display.show(outcome.value, outputterOf(name, outcome.value));
    return 0;
  }
  const text = String(outcome.value);
  if (!options.isQuiet) display.show(text.startsWith(argumentsStart) ? withUsage(text, name) : text);
  return text.startsWith(exceptionStart) ? 1 : 0;
}

async function ask(config: MasterConfig, host: Host, name: string, args: readonly Value[]): Promise<Outcome> {
  let client: MasterClient | undefined;
  try {
    client = await MasterClient.open(config, host.user);
    return await client.runner(name, args, new Map());
  } catch (error) {
    if (hasCode(error, "MASTER_UNREACHABLE") && offlineFunctions.has(name))
      return await readOffline(config, name, args);
    if (hasCode(error, "REQUEST_TIMEOUT")) host.complain("[ERROR   ] Message timed out\n");
    const isKnown = ["MASTER_UNREACHABLE", "REQUEST_TIMEOUT", "REQUEST_REFUSED", "AUTH_FAILED"] as const;
    if (!isKnown.some((code) => hasCode(error, code))) throw error;
    return { value: `${exceptionStart} ${name}: ${(error as SaltworksError).message}`, isSuccess: false };
  } finally {
    client?.close();
  }
}

/** With the master down its job cache can still be read. */
async function readOffline(config: MasterConfig, name: string, args: readonly Value[]): Promise<Outcome> {
  const jobs = openJobArchive(config);
  try {
    const value = await runRunner({ config, jobs, master: undefined }, name, args, new Map());
    // Through the same form in which a master answers, so that what is shown does not depend on who read it.
    return { value: decode(encode(value, "bin")), isSuccess: true };
  } catch (error) {
    if (!hasCode(error, "FUNCTION_ARGUMENTS")) throw error;
    return { value: `${argumentsStart} ${(error as SaltworksError).message}`, isSuccess: false };
  } finally {
    await jobs.close();
  }
}

/** Results of state runs are shown as such. */
function outputterOf(name: string, value: Value): string | undefined {
  if (name !== "jobs.lookup_jid" || !(value instanceof Map)) return undefined;
  return [...value.values()].some(isStateResult) ? "highstate" : undefined;
}

function isStateResult(value: Value): boolean {
  return value instanceof Map && [...value.keys()].some((key) => typeof key === "string" && key.includes("_|-"));
}

function withUsage(text: string, name: string): string {
  return `\n${text}\n\nUsage:\n\n    ${runnerFunctions.get(name)?.doc ?? ""}`;
}
