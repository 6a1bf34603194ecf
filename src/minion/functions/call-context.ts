/** Makes the context of one function call: what the function sees of the minion. */
import type { MinionConfig } from "../../config/schema.ts";
import { SaltworksError } from "../../errors.ts";
import type { ValueMap } from "../../wire/values.ts";
import { bindCall } from "./binding.ts";
import type { Host, MinionFacts } from "./host.ts";
import type { JobRecords } from "./job-records.ts";
import type { CallContext, Extras, ModuleLog, ModuleTable, ReturnerDocs } from "./module-contract.ts";

/** What all calls of one process share. */
export type Surroundings = {
  readonly config: MinionConfig;
  readonly functions: ModuleTable;
  readonly facts: () => MinionFacts;
  readonly host: Host;
  readonly records: JobRecords;
  readonly log: ModuleLog;
  readonly extras?: Extras | undefined;
  /** Without it the process has no returners. */
  readonly returners?: () => ReturnerDocs;
};

export type Call = { readonly jid: string; readonly fun: string; readonly publish: ValueMap };

/** `retcode()` is the last code that the function set, or 0. */
export function makeContext(
  surroundings: Surroundings,
  call: Call,
): { readonly context: CallContext; readonly retcode: () => number } {
  const { config, functions, facts, host, records, log, extras, returners } = surroundings;
  let code = 0;
  const context: CallContext = {
    ...call,
    config,
    functions,
    returners: returners ?? (() => new Map()),
    extras,
    log,
    grains: () => facts().grains,
    pillar: () => facts().pillar,
    compilePillar: (options = {}) => host.compilePillar(options),
    setRetcode: (retcode) => {
      code = retcode;
    },
    callFunction: (name, args = [], kwargs = new Map()) => context.runIn(context, name, args, kwargs),
    runIn: async (inner, name, args, kwargs) => {
      const target = functions.get(name);
      if (target === undefined) throw new SaltworksError("FUNCTION_UNKNOWN", `'${name}' is not available.`, { name });
      return await target.run({ ...inner, fun: name }, bindCall(target, name, args, kwargs));
    },
    fireMaster: (tag, data) => host.fireMaster(tag, data),
    fireMinion: (tag, data) => host.fireMinion(tag, data),
    setGrains: (change) => host.setGrains(change),
    masterRequest: (load) => host.masterRequest(load),
    runningJobs: () => records.running(process.pid),
    signalJob: (jid, signal) => records.signal(jid, signal),
  };
  return { context, retcode: () => code };
}
