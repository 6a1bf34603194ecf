/**
 * Runs the function of a scheduled job and makes the content of its return, with the fields, order and texts of Salt's scheduler.
 * Salt's scheduler knows two outcomes: success and "unhandled exception". Source: docs/protocol.md section 9.
 */

import { strOf } from "../../python/repr.ts";
import { tracebackOf } from "../../python/traceback.ts";
import { textField } from "../../wire/fields.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { bindCall } from "./binding.ts";
import { makeContext, type Surroundings } from "./call-context.ts";
import type { JobReturn } from "./job-return.ts";
import { checkBlackout } from "./run-function.ts";

/** `record`: the first members of the return, known before the job runs, `fun` and `jid` included. */
export type ScheduledCall = {
  readonly record: ValueMap;
  readonly args: readonly Value[];
  readonly kwargs: ValueMap;
  /** `returner` of the job and `schedule_returner` of the configuration. */
  readonly returners: readonly string[];
  /** `ret_config` and `ret_kwargs`, where the job has them. */
  readonly choice: ValueMap;
};

/** The retcode of Salt's scheduler for any failure. */
export const failureRetcode = 254;

/** The return reports a function's failure; `runScheduled` does not throw it. */
export async function runScheduled(surroundings: Surroundings, call: ScheduledCall): Promise<JobReturn> {
  const fun = strOf(call.record.get("fun") ?? null);
  const target = surroundings.functions.get(fun);
  const known: JobReturn = { ...membersOf(call.record), pid: process.pid };
  const out = target?.outputter === undefined ? {} : { out: target.outputter };
  if (target === undefined) return { ...failed(known, `'${fun}' is not available.`), ...out };
  const jid = textField(call.record, "jid") ?? "";
  const publish: ValueMap = new Map([...call.record, ["pid", process.pid]]);
  const { context, retcode } = makeContext(surroundings, { jid, fun, publish });
  const kwargs: ValueMap = new Map(call.kwargs);
  if (target.kwargs !== undefined) for (const [key, value] of publish) kwargs.set(`__pub_${strOf(key)}`, value);
  try {
    checkBlackout(surroundings, fun);
    const value = await target.run(context, bindCall(target, fun, call.args, kwargs));
    return { ...known, return: value ?? null, retcode: retcode(), success: true, ...out };
  } catch (error) {
    surroundings.log.error(`Unhandled exception running ${fun}\n${tracebackOf(error)}`);
    return { ...failed(known, unhandledText(fun)), ...out };
  }
}

export function unhandledText(fun: string): string {
  return `Unhandled exception running ${fun}`;
}

export function failed(known: JobReturn, text: string): JobReturn {
  return { ...known, return: text, success: false, retcode: failureRetcode };
}

export function membersOf(map: ValueMap): JobReturn {
  return Object.fromEntries(Array.from(map, ([name, value]) => [strOf(name), value]));
}
