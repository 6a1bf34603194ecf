/** Runner `manage`: which minions answer, found by asking them. */
import { SaltworksError } from "../errors.ts";
import type { Encodable, ValueMap } from "../wire/values.ts";
import type { RunnerContext, RunnerFunction } from "./contract.ts";

type Status = { readonly up: string[]; readonly down: string[] };

function seconds(value: unknown, otherwise: number): number {
  const given = typeof value === "string" ? Number(value) : value;
  return typeof given === "number" && Number.isFinite(given) && given > 0 ? given : otherwise;
}

async function ask(context: RunnerContext, args: ValueMap): Promise<Status> {
  if (context.master === undefined)
    throw new SaltworksError("MASTER_UNREACHABLE", "manage asks the minions, which takes a running master");
  const target = args.get("tgt");
  const outcome = await context.master.runJob({
    fun: "test.ping",
    arg: [],
    target: Array.isArray(target) ? target.map(String) : String(target ?? "*"),
    targetKind: String(args.get("tgt_type") ?? "glob"),
    timeoutMs: seconds(args.get("timeout"), context.config.timeout) * 1_000,
    gatherTimeoutMs: seconds(args.get("gather_job_timeout"), context.config.gather_job_timeout) * 1_000,
  });
  const up = [...outcome.returns.keys()].sort();
  return { up, down: outcome.minions.filter((id) => !outcome.returns.has(id)).sort() };
}

const parameters = ["tgt", "tgt_type", "timeout", "gather_job_timeout"].map((name) => ({ name, isRequired: false }));

function define(doc: string, choose: (status: Status) => Encodable): RunnerFunction {
  return { parameters, doc, run: async (context, args) => choose(await ask(context, args)) };
}

export const manageRunner: ReadonlyMap<string, RunnerFunction> = new Map([
  ["manage.up", define("Ids of the minions that answer a ping.", (status) => status.up)],
  ["manage.down", define("Ids of the minions that do not answer a ping.", (status) => status.down)],
  ["manage.status", define("Both lists: up and down.", (status) => ({ up: status.up, down: status.down }))],
]);
