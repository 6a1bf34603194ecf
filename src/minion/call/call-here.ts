/**
 * Calls an execution function for a program on the master's machine, outside a job. Does not contact a master and sends no return. Grains are
 * this machine's. Source: the runner `salt.cmd`.
 */
import type { Logger } from "pino";
import type { MinionConfig } from "../../config/schema.ts";
import { tracebackOf } from "../../python/traceback.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import { makeContext } from "../functions/call-context.ts";
import { JobRecords } from "../functions/job-records.ts";
import type { Extras } from "../functions/module-contract.ts";
import { collectGrains } from "../modules/grains/core.ts";
import type { Environment } from "../modules/machine/environment.ts";
import { loadModules } from "../modules/registry.ts";
import { type LocalPillar, openCallHost } from "./call-host.ts";

/** `failure`: Python's traceback of the function's exception. */
export type CalledHere = { readonly value: Encodable } | { readonly failure: string };

type Surrounding = {
  readonly log: Logger;
  readonly environment: Environment;
  readonly extras: Extras;
  /** Without it the pillar is empty. */
  readonly localPillar?: LocalPillar;
};

/** Calls the function as another function would. Returns Salt's sentence if the function does not exist. `jid`: of the calling runner. */
export async function callHere(
  config: MinionConfig,
  surrounding: Surrounding,
  call: { readonly fun: string; readonly args: readonly Value[]; readonly kwargs: ValueMap; readonly jid?: string },
): Promise<CalledHere> {
  const { log: logger, environment, extras, localPillar } = surrounding;
  const functions = loadModules(config, environment);
  if (!functions.has(call.fun)) return { value: `'${call.fun}' is not available.` };
  const log = {
    debug: (text: string) => logger.debug(text),
    info: (text: string) => logger.info(text),
    warn: (text: string) => logger.warn(text),
    error: (text: string) => logger.error(text),
  };
  const grains = await collectGrains({ config, environment, log });
  const opened = await openCallHost({ ...config, file_client: "local" }, grains, logger, localPillar);
  const fire = extras.orchestration?.fire;
  const host = fire === undefined ? opened : { ...opened, fireMinion: fire };
  try {
    const facts = () => ({ grains, pillar: host.pillar });
    const records = await JobRecords.open(config.cachedir);
    const { context } = makeContext(
      { config, functions, facts, host, records, log, extras },
      { jid: call.jid ?? "", fun: "salt.cmd", publish: new Map() },
    );
    return { value: await context.callFunction(call.fun, call.args, call.kwargs) };
  } catch (error) {
    return { failure: tracebackOf(error) };
  } finally {
    opened.close();
  }
}
