/** Which returners a job names, and the return as they get it. Source: Salt 3007's minion. */
import type { MinionConfig } from "../../config/schema.ts";
import { asValue, type Value, type ValueMap } from "../../wire/values.ts";
import type { JobReturn } from "../functions/job-return.ts";
import { configToValue } from "../functions/yaml-values.ts";
import { type Failures, namesIn } from "./run.ts";

/** The returners of a publish: `--return`, then `return` of the configuration, which a job of several functions does not use. */
export function returnersOf(config: MinionConfig, load: ValueMap): string[] {
  const listed = load.get("ret") ?? null;
  return Array.isArray(load.get("fun")) ? namesIn(listed) : namesIn(listed, configToValue(config.return));
}

/** Settings of returners that a job names. */
export function choiceOf(load: ValueMap): ValueMap {
  const choice: ValueMap = new Map<Value, Value>();
  for (const name of ["ret_config", "ret_kwargs"]) {
    const value = load.get(name);
    if (value !== undefined) choice.set(name, value);
  }
  return choice;
}

/**
 * The return as Salt's returners get it. Of two hints named `out` they see the one of a failure, which stands before the job's id; the
 * outputter's, which stands last, is for the master.
 */
export function recordOf(config: MinionConfig, result: JobReturn, choice: ValueMap): ValueMap {
  const record = asValue(result) as ValueMap;
  const names = [...record.keys()];
  if (names.indexOf("out") > names.indexOf("jid")) record.delete("out");
  for (const [name, value] of choice) record.set(name, value);
  return record.set("id", config.id);
}

/** The return that the master gets names each returner that failed, or that cannot be used. */
export function withFailures(result: JobReturn, failures: Failures): JobReturn {
  return failures.size === 0 ? result : { ...result, returner_errors: new Map(failures) };
}
