/** What state functions share: their keywords, the pillar and the environment of a run, and the compilation of its states. */
import { SaltworksError } from "../../../errors.ts";
import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { Compiled, HighData, SlsSource } from "../../../states/compile/contract.ts";
import { HighDataCompiler, type Matches } from "../../../states/compile/high-data.ts";
import { matchTop, readTop, type Top, topFaults } from "../../../states/compile/top.ts";
import { startTimeText } from "../../../wire/jid.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";
import { commandError, invocationError } from "../../functions/errors.ts";
import type { BoundArguments, CallContext } from "../../functions/module-contract.ts";
import { ownKeywords } from "../declare/signature.ts";
import { isTargetMeant } from "../minion/match.ts";
import { slsSource } from "./source.ts";

/** Salt's exit codes of state functions. */
export const stateCodes = { compilerError: 1, failure: 2, pillarFailure: 5 } as const;

/** Keywords of Salt's state functions that this minion does not have. */
const unsupported = ["localconfig", "pillar_enc", "sync_mods", "mock", "cache", "terse"];

export type Run = {
  readonly context: CallContext;
  readonly keywords: ValueMap;
  readonly saltenv: string | undefined;
  readonly pillar: ValueMap;
  readonly source: SlsSource;
};

/** The keywords beyond the function's parameters. @throws SaltworksError FUNCTION_FAILED for one that is not supported */
export function keywordsOf(args: BoundArguments): ValueMap {
  const keywords = ownKeywords(args);
  for (const name of unsupported)
    if (isTrue(keywords.get(name) ?? args.named[name] ?? null))
      throw commandError(`${name} is not supported by this minion's states`);
  return keywords;
}

/** An argument, whether it is a parameter of the function or one of its further keywords. */
export function option(args: BoundArguments, name: string): Value {
  return args.named[name] ?? args.extra.get(name) ?? null;
}

function textOrNone(value: Value | undefined): string | undefined {
  return value === undefined || value === null ? undefined : strOf(value);
}

/** @throws SaltworksError FUNCTION_ARGUMENTS if `pillar` is not a map */
export async function openRun(context: CallContext, keywords: ValueMap, isForFiles: boolean): Promise<Run> {
  const override = keywords.get("pillar") ?? null;
  if (override !== null && !(override instanceof Map))
    throw invocationError("Pillar data must be formatted as a dictionary, unless pillar_enc is specified.");
  const { config } = context;
  const asked = keywords.has("saltenv") ? textOrNone(keywords.get("saltenv")) : (config.saltenv ?? undefined);
  const saltenv = asked ?? (isForFiles ? "base" : undefined);
  const follows = config.opts.get("pillarenv_from_saltenv") === true && keywords.has("saltenv");
  const pillarenv = keywords.has("pillarenv")
    ? textOrNone(keywords.get("pillarenv"))
    : follows
      ? asked
      : (config.pillarenv ?? undefined);
  const pillar = await context.compilePillar({
    ...(saltenv === undefined ? {} : { saltenv }),
    ...(pillarenv === undefined ? {} : { pillarenv }),
    ...(override === null ? {} : { override }),
  });
  return { context, keywords, saltenv, pillar, source: slsSource(context, { pillar, saltenv }) };
}

/** The pillar's errors, unless the caller forces the run. */
export function pillarErrors({ pillar, keywords }: Run): readonly Value[] {
  if (isTrue(keywords.get("force") ?? null)) return [];
  const errors = pillar.get("_errors");
  return Array.isArray(errors) ? errors : [];
}

/** @throws SaltworksError FUNCTION_FAILED if the pillar has errors */
export function checkPillar(run: Run): void {
  const errors = pillarErrors(run);
  if (errors.length === 0) return;
  run.context.setRetcode(stateCodes.pillarFailure);
  const list = errors.map((error) => `- ${strOf(error)}`).join("\n");
  throw commandError(`Pillar failed to render. Additional info follows:\n\n${list}`);
}

/** Names as lists or texts with commas. */
export function namesIn(value: Value): string[] {
  if (Array.isArray(value)) return value.map(strOf);
  return strOf(value)
    .split(",")
    .map((name) => name.trim());
}

export function compiler({ context, source }: Run): HighDataCompiler {
  return new HighDataCompiler(source, context.config.state_auto_order);
}

export async function compileFiles(run: Run, files: Value): Promise<Compiled<HighData>> {
  return await compiler(run).compile(new Map([[run.saltenv ?? "base", namesIn(files)]]));
}

/** The merged top files. As in Salt, top files that cannot be rendered count as empty. */
export async function topOf({ context, source, saltenv }: Run): Promise<Top> {
  const { config } = context;
  try {
    return await readTop(source, {
      topFile: config.state_top.replace(/^salt:\/\//, ""),
      environment: saltenv,
      topEnvironment: config.state_top_saltenv ?? undefined,
      strategy: config.top_file_merging_strategy,
      defaultTop: config.default_top,
      environmentOrder: config.env_order.map((name) => strOf(name as Value)),
    });
  } catch (error) {
    if (!(error instanceof SaltworksError) || error.code !== "PILLAR_FAILED") throw error;
    context.log.error(`Unable to render top file: ${error.message}`);
    return new Map();
  }
}

/** The SLS files of this minion by environment, from top files and then from the master's other sources (`master_tops`). */
export async function matchesOf(run: Run, top: Top): Promise<Map<string, string[]>> {
  const { context, source, saltenv } = run;
  const matches = await matchTop(top, source, saltenv, (kind, target) => isTargetMeant(context, kind, target));
  const isFirst = isTrue((context.config.opts.get("master_tops_first") ?? null) as Value);
  for (const [name, files] of await masterTops(run)) {
    const [own, more] = [matches.get(name) ?? [], files];
    const [first, second] = isFirst ? [more, own] : [own, more];
    matches.set(name, [...first, ...second.filter((sls) => !first.includes(sls))]);
  }
  return matches;
}

async function masterTops({ context, saltenv }: Run): Promise<[string, string[]][]> {
  const { config } = context;
  if (config.file_client === "local") return [];
  const opts = new Map<Value, Value>([
    ["id", config.id],
    ["grains", context.grains()],
    ["saltenv", saltenv ?? null],
  ]);
  const reply = await context.masterRequest({ cmd: "_master_tops", id: config.id, opts });
  if (!(reply instanceof Map)) return [];
  return Array.from(reply, ([name, files]) => [strOf(name), Array.isArray(files) ? files.map(strOf) : []]);
}

export async function compileTop(run: Run): Promise<{ top: Top; matches: Matches; high: Compiled<HighData> }> {
  const top = await topOf(run);
  const faults = topFaults(top);
  const matches = faults.length > 0 ? new Map() : await matchesOf(run, top);
  const high = await compiler(run).compile(matches);
  return { top, matches, high: { value: high.value, errors: [...faults, ...high.errors] } };
}

/** Salt's sentences about other state runs of this minion, if they exclude this one. */
export async function conflicts(context: CallContext, args: BoundArguments): Promise<readonly string[]> {
  const queue = option(args, "queue") ?? context.config.opts.get("state_queue") ?? null;
  if (isTrue(queue as Value)) throw commandError("queue is not supported by this minion's states");
  if (isTrue(option(args, "concurrent"))) return [];
  const jobs = (await context.runningJobs()).filter(
    (job) => strOf(job.get("fun") ?? "").startsWith("state.") && job.get("jid") !== context.jid,
  );
  if (jobs.length > 0) context.setRetcode(stateCodes.compilerError);
  return jobs.map((job) => {
    const [fun, pid, jid] = ["fun", "pid", "jid"].map((name) => strOf(job.get(name) ?? null));
    const started = startTimeText(jid ?? "");
    return `The function "${fun}" is running as PID ${pid} and was started at ${started} with jid ${jid}`;
  });
}
