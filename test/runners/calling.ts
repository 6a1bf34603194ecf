/** Calls a runner function as a caller would: the result is encoded and decoded. */
import type { MasterConfig } from "../../src/config/load.ts";
import type { JobDatabases } from "../../src/databases/open-reader.ts";
import type {
  MasterAccess,
  MinionReader,
  RunnerContext,
  RunnerJobReader,
} from "../../src/runners/contract/contract.ts";
import { runRunner } from "../../src/runners/registry.ts";
import { decode, encode } from "../../src/wire/msgpack.ts";
import type { Value } from "../../src/wire/values.ts";
import { plain } from "../plain.ts";

export const noJobs: RunnerJobReader = {
  job: async () => undefined,
  returns: async () => ({ returns: [], hasMore: false }),
  returnOf: async () => undefined,
  request: async () => undefined,
  endTime: async () => undefined,
  find: async () => [],
};

const noDatabases: JobDatabases = {
  names: [],
  own: undefined,
  open: (name) => {
    throw new Error(`no database ${name}`);
  },
};

export function runnerContext(
  parts: {
    readonly config?: Readonly<Record<string, unknown>>;
    readonly master?: MasterAccess;
    readonly minions?: MinionReader;
    readonly jobs?: RunnerJobReader;
    readonly saltJobs?: RunnerJobReader;
    readonly databases?: JobDatabases;
  } = {},
): RunnerContext {
  const config = {
    id: "the_master",
    cachedir: "nowhere",
    timeout: 5,
    gather_job_timeout: 10,
    ...parts.config,
  } as unknown as MasterConfig;
  return {
    config,
    jobs: parts.jobs ?? noJobs,
    saltJobs: parts.saltJobs ?? noJobs,
    databases: parts.databases ?? noDatabases,
    master: parts.master,
    ...(parts.minions ? { minions: parts.minions } : {}),
    caller: { kind: "runner", jid: "20260101000000000000", tag: "salt/run/20260101000000000000", user: "root" },
  };
}

export async function callRunner(
  context: RunnerContext,
  name: string,
  args: readonly Value[] = [],
  kwargs: Readonly<Record<string, Value>> = {},
): Promise<unknown> {
  const given = new Map<Value, Value>(Object.entries(kwargs));
  return plain(decode(encode(await runRunner(context, name, args, given), "bin")));
}
