/**
 * Execution module `publish`: a minion asks its master to publish to other minions, or to run a runner, where the master's `peer` and
 * `peer_run` permit it. Source: Salt 3007's `publish`, docs/functions.md; docs/protocol.md section 7.1.
 */

import { setTimeout as delay } from "node:timers/promises";
import { hasCode } from "../../../errors.ts";
import { reprOf, strOf } from "../../../python/repr.ts";
import { isTrue, numberOf, typeName } from "../../../python/values.ts";
import { wordValue } from "../../../python/word.ts";
import type { Encodable, Value } from "../../../wire/values.ts";
import { argumentError, invocationError } from "../../functions/errors.ts";
import type { BoundArguments, CallContext } from "../../functions/module-contract.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, signature } from "../declare/signature.ts";

/** Milliseconds between questions to the master for new returns. */
const pollMs = 300;

export const publishModule: ModuleFunctions = {
  "publish.publish": {
    ...signature("tgt, fun, arg=None, tgt_type='glob', returner='', timeout=5, via_master=None"),
    doc: describe(
      "Publishes a function to other minions and shows what they return within `timeout` seconds. The master's option `peer` must permit it.\nA target can name whole pillar values only. A function of `publish` can't be published.\nSeveral arguments are a list.",
      "publish.publish '*' network.interfaces",
      "publish.publish os:Debian user.add '[foo, 1020, 1020]' tgt_type=grain",
    ),
    run: (context, args) => publish(context, args, false),
  },
  "publish.full_data": {
    ...signature("tgt, fun, arg=None, tgt_type='glob', returner='', timeout=5"),
    doc: describe(
      "As `publish.publish`, with each return wrapped in a map, as the master keeps it.",
      "publish.full_data '*' cmd.run 'ls -la /tmp'",
    ),
    run: (context, args) => publish(context, args, true),
  },
  "publish.runner": {
    ...signature("fun, arg=None, timeout=5"),
    doc: describe(
      "Makes the master run a runner and shows its result. The master's option `peer_run` must permit it.",
      "publish.runner manage.down",
    ),
    run: runner,
  },
};

async function publish(context: CallContext, args: BoundArguments, isFull: boolean): Promise<Encodable> {
  const fun = strOf(argument(args, "fun"));
  if (hasNoMaster(context)) {
    context.log.error("Cannot run publish commands without a connection to a salt master. No command sent.");
    return new Map();
  }
  if (fun.startsWith("publish.")) {
    context.log.info("Cannot publish publish calls. Returning {}");
    return new Map();
  }
  checkMaster(context, argument(args, "via_master"));
  const timeout = argument(args, "timeout");
  const job = await askMaster(context, `'${fun}' publish timed out`, {
    cmd: "minion_pub",
    fun,
    arg: argumentList(argument(args, "arg")),
    tgt: argument(args, "tgt"),
    tgt_type: argument(args, "tgt_type"),
    ret: argument(args, "returner"),
    tmo: timeout,
    form: isFull ? "full" : "clean",
    no_parse: notParsed(context),
  });
  if (!(job instanceof Map)) return isTrue(job) ? job : new Map();
  return job.size === 0 ? job : await gather(context, job, timeout, isFull);
}

/** Collects the returns of a job. As in Salt, null if the target matched no minion. */
async function gather(
  context: CallContext,
  job: ReadonlyMap<Value, Value>,
  timeout: Value,
  isFull: boolean,
): Promise<Encodable> {
  const minions = job.get("minions");
  const expected = Array.isArray(minions) ? minions : [];
  if (expected.length === 0) return null;
  const timeoutMs = millisecondsOf(timeout);
  for (let waitedMs = 0; ; waitedMs += pollMs) {
    const reply = await context.masterRequest({ cmd: "pub_ret", jid: job.get("jid") ?? "" });
    const returns = reply instanceof Map ? reply : new Map<Value, Value>();
    if (expected.every((id) => returns.has(id)) || waitedMs > timeoutMs) return isFull ? returns : bare(returns);
    await delay(pollMs);
  }
}

function bare(returns: ReadonlyMap<Value, Value>): Encodable {
  return new Map(Array.from(returns, ([id, data]) => [id, data instanceof Map ? (data.get("ret") ?? null) : null]));
}

async function runner(context: CallContext, args: BoundArguments): Promise<Encodable> {
  const fun = strOf(argument(args, "fun"));
  if (hasNoMaster(context)) return "No access to master. If using salt-call with --local, please remove.";
  return await askMaster(context, `'${fun}' runner publish timed out`, {
    cmd: "minion_runner",
    fun,
    arg: argumentList(argument(args, "arg")),
    tmo: argument(args, "timeout"),
    no_parse: notParsed(context),
  });
}

function hasNoMaster({ config }: CallContext): boolean {
  return config.file_client === "local" || config.master_type === "disable";
}

/** Checks `via_master`: this minion is connected to one master at a time and cannot ask another. */
function checkMaster({ config }: CallContext, wanted: Value): void {
  if (!isTrue(wanted)) return;
  if (!Array.isArray(config.master))
    throw invocationError("Could not find list of masters in minion configuration but `via_master` was specified.");
  const names = config.master.map(String);
  if (!names.some((name) => name === wanted || name.startsWith(`${strOf(wanted)}:`)))
    throw invocationError(
      `Could not find match for ${strOf(wanted)} in list of configured masters ${reprOf(names)} when using \`via_master\` option`,
    );
  if (names.length > 1)
    throw invocationError("`via_master` cannot be used with several masters: the minion is connected to one at a time");
}

/** The arguments as a list. A text is read as YAML. */
function argumentList(given: Value): Value[] {
  const value = typeof given === "string" ? wordValue(given) : given;
  if (value === null) return [];
  return Array.isArray(value) ? value : [value];
}

function notParsed({ config }: CallContext): string[] {
  const names = config.opts.get("no_parse");
  return Array.isArray(names) ? names.map(String) : [];
}

function millisecondsOf(timeout: Value): number {
  const seconds = numberOf(timeout);
  if (seconds === undefined)
    throw argumentError(`'>' not supported between instances of 'float' and '${typeName(timeout)}'`);
  return seconds * 1_000;
}

/** Sends a request. If the master does not answer, returns `silence`, Salt's text. */
async function askMaster(
  context: CallContext,
  silence: string,
  load: { readonly [field: string]: Encodable },
): Promise<Value> {
  try {
    return await context.masterRequest(load);
  } catch (error) {
    if (!hasCode(error, "REQUEST_TIMEOUT")) throw error;
    return silence;
  }
}
