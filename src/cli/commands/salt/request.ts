/** Turns the options and words of `saltworks salt` into a job request. Source: docs/compatibility.md, "saltworks salt". */
import type { JobRequest } from "../../../client/job-request.ts";
import { durationForm, parseDuration } from "../../../config/duration.ts";
import type { MasterConfig } from "../../../config/schema.ts";
import { SaltworksError } from "../../../errors.ts";
import { wordValue } from "../../../python/word.ts";
import type { Encodable, Value } from "../../../wire/values.ts";
import { parseFunctions } from "../../args/functions.ts";
import { followTimes, targetExpression, targetKindOf } from "../../args/targets.ts";
import { Exit } from "../../host/exit.ts";
import type { Host } from "../../host/host.ts";
import type { OptionsOf } from "../../options/parse.ts";
import { targetOptions } from "../../options/salt-options.ts";

/** The job that one command line asks for. */
export type SaltJob = {
  readonly request: JobRequest & { readonly follow: NonNullable<JobRequest["follow"]> };
  /** As on the command line, for suggested commands. */
  readonly configDir: string | undefined;
  readonly isAsync: boolean;
  readonly isStatic: boolean;
  readonly isProgressShown: boolean;
  /** The number of minions to choose at random from those minions of the target that have the function. */
  readonly subset: number | undefined;
  readonly isVerbose: boolean;
  readonly isJidShown: boolean;
  /** Whether silent minions are shown. */
  readonly isTimeoutShown: boolean;
  readonly isSummarised: boolean;
};

type SaltOptions = OptionsOf<"salt">;

/**
 * @throws Exit if the words do not fit together
 * @throws SaltworksError USAGE if an option's value has the wrong form, such as a number instead of a map
 */
export function toJob(
  options: SaltOptions,
  positionals: readonly string[],
  config: MasterConfig,
  host: Pick<Host, "complain">,
): SaltJob {
  const [targetWord = "", functionWord = "", ...words] = options.isDocAsked ? docWords(positionals) : positionals;
  const noParse = options.noParse?.split(",") ?? [];
  const call = parseFunctions(functionWord, words, options.argsSeparator, { noParse });
  if (!call.ok) {
    host.complain(`${call.message}\n`);
    throw new Exit(call.exitCode);
  }
  if (options.deliverWithin && (options.isStatic || options.subset))
    throw new SaltworksError(
      "USAGE",
      "--deliver-within is for all minions of the target; --static and --subset take only minions that answer now",
    );
  const targetKind = targetKindOf(targetOptions, options);
  const isTimeoutShown = config.show_timeout && !options.isTimeoutHidden;
  const isJidShown = config.show_jid || options.isJidShown;
  return {
    request: {
      target: targetExpression(targetKind, targetWord),
      targetKind,
      fun: call.fun,
      args: call.arg,
      ...returnersOf(options, config),
      kwargs: {
        show_timeout: isTimeoutShown,
        show_jid: isJidShown,
        delimiter: options.delimiter ?? ":",
        ...fieldsForMinions(options),
      },
      follow: followTimes(options.timeoutSeconds, options.gatherJobTimeoutSeconds, config),
    },
    configDir: options.configDir,
    isAsync: options.isAsync,
    isStatic: options.isStatic,
    isProgressShown: options.isProgressShown,
    // As in Salt, 0 turns the subset off.
    subset: options.subset === 0 ? undefined : options.subset,
    isVerbose: options.isVerbose,
    isJidShown,
    isTimeoutShown,
    isSummarised: config.cli_summary || options.isSummaryShown,
  };
}

/** With `ext_job_cache` each job goes to that returner, too. */
function returnersOf(
  { returner }: SaltOptions,
  { ext_job_cache: external }: Pick<MasterConfig, "ext_job_cache">,
): { readonly ret?: string } {
  const ret = [returner, external].filter(Boolean).join(",");
  return ret === "" ? {} : { ret };
}

/** With `-d` the function is `sys.doc`, and the words after the target are its arguments. Without a target it asks all minions. */
function docWords(positionals: readonly string[]): string[] {
  const [target = "*", ...words] = positionals;
  return [target, "sys.doc", ...(words[0] === "sys.doc" ? words.slice(1) : words)];
}

/** Values that are sent beside the job, in the order in which Salt stores them. Empty values count as not given. */
function fieldsForMinions(options: SaltOptions): { [name: string]: Encodable } {
  const fields: { [name: string]: Encodable } = {};
  if (options.returnConfig) fields.ret_config = options.returnConfig;
  if (options.returnKwargs) fields.ret_kwargs = mapOf("--return_kwargs", options.returnKwargs, "{host: db1}");
  if (options.moduleExecutors) fields.module_executors = executorsOf(options.moduleExecutors);
  if (options.executorOpts) fields.executor_opts = mapOf("--executor-opts", options.executorOpts, "{name: value}");
  if (options.deliverWithin) fields.deliver_within = durationOf("--deliver-within", options.deliverWithin);
  if (options.metadata) fields.metadata = mapOf("--metadata", options.metadata, "{ticket: OPS-7}");
  return fields;
}

/** Refuses a wrong duration before anything is sent. The master checks the value again. */
function durationOf(option: string, written: string): string {
  if (parseDuration(written) !== undefined) return written;
  throw new SaltworksError("USAGE", `option ${option}: '${written}' is not ${durationForm}`);
}

/** Refuses a value that is not a map, because minions would ignore it silently. */
function mapOf(option: string, text: string, example: string): Value {
  const value = wordValue(text);
  if (value instanceof Map) return value;
  throw new SaltworksError(
    "USAGE",
    `option ${option}: '${text}' is not a map; write one in YAML, such as '${example}'`,
  );
}

function executorsOf(text: string): Value {
  const value = wordValue(text);
  const isList = Array.isArray(value) && value.every((name) => typeof name === "string");
  if (isList || typeof value === "string") return value;
  const message = `option --module-executors: '${text}' is not a list of names; write one in YAML, such as '[direct_call]'`;
  throw new SaltworksError("USAGE", message);
}
