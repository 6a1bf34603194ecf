/** Runner `manage`, functions that ask the minions: which of them answer, and their versions. */
import { readOwnPackage, saltReleaseFollowed } from "../../config/host/program.ts";
import { SaltworksError } from "../../errors.ts";
import { openKeyDirectories } from "../../store/keys/keys.ts";
import type { Encodable, ValueMap } from "../../wire/values.ts";
import { isGivenTrue, parametersOf, secondsArgument, targetArgument } from "../contract/arguments.ts";
import type { RunnerContext, RunnerFunction } from "../contract/contract.ts";
import { runJob } from "../contract/run-job.ts";
import { changeKeys } from "./key-changes.ts";
import { compareVersions, referenceFor } from "./version-order.ts";

type Status = { readonly up: string[]; readonly down: string[] };

async function ask(context: RunnerContext, args: ValueMap): Promise<Status> {
  const { config } = context;
  const outcome = await runJob(context, {
    fun: "test.ping",
    arg: [],
    ...targetArgument(args, "*"),
    timeoutMs: secondsArgument(args, "timeout", config.timeout),
    gatherTimeoutMs: secondsArgument(args, "gather_job_timeout", config.gather_job_timeout),
  });
  const up = [...outcome.returns.keys()].sort();
  return { up, down: outcome.minions.filter((id) => !outcome.returns.has(id)).sort() };
}

async function down(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const { down: silent } = await ask(context, args);
  if (isGivenTrue(args, "removekeys") && silent.length > 0) {
    const keys = openKeyDirectories(context.config.pki_dir);
    const held = new Map((["accepted", "pending", "rejected", "denied"] as const).map((state) => [state, silent]));
    await changeKeys(context, keys, "delete", held);
  }
  return silent;
}

const offline = "Minion offline";
const headings = { older: "Minion requires update", same: "Up to date", newer: "Minion newer than master" };

/** Compares minions of Salt with the Salt release that this master follows, and minions of this program with its own version. */
async function versions(context: RunnerContext): Promise<Encodable> {
  const own = readOwnPackage().version;
  const { minions, returns, retcodes } = await runJob(context, {
    fun: "test.version",
    arg: [],
    target: "*",
    targetKind: "glob",
  });
  const groups = new Map<string, Map<string, Encodable>>();
  const place = (heading: string, id: string, version: string | false) =>
    groups.set(heading, (groups.get(heading) ?? new Map<string, Encodable>()).set(id, version));
  for (const id of [...minions].sort()) {
    const version = returns.get(id);
    if (typeof version !== "string" || (retcodes?.get(id) ?? 0) !== 0) {
      place(offline, id, false);
      continue;
    }
    const order = compareVersions(version, referenceFor(version, own, saltReleaseFollowed.text));
    place(order < 0 ? headings.older : order > 0 ? headings.newer : headings.same, id, version);
  }
  return new Map<string, Encodable>([...groups, ["Master", own]]);
}

/** Salt's functions that use salt-ssh to reach machines without a minion. Here they only tell the caller why they cannot run. */
function needsSaltSsh(name: string, instead: string, ...parameters: readonly string[]): [string, RunnerFunction] {
  const refusal = `${name} needs salt-ssh, which this program does not have; ${instead}`;
  const run = () => Promise.reject(new SaltworksError("FUNCTION_FAILED", refusal));
  return [name, { parameters: parametersOf(...parameters), doc: `Not available: ${refusal}.`, run, isOffline: true }];
}

const bootstrapParameters =
  "version script hosts script_args roster ssh_user ssh_password ssh_priv_key tmp_dir http_backend";

const parameters = parametersOf("tgt", "tgt_type", "timeout", "gather_job_timeout");

export const manageRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  needsSaltSsh("manage.bootstrap", "install the minions by other means", ...bootstrapParameters.split(" ")),
  needsSaltSsh(
    "manage.safe_accept",
    "compare `saltworks key -f ID` with the minion's `salt-call --local key.finger`, then accept with `saltworks key -a ID`",
    "target!",
    "tgt_type",
  ),
  [
    "manage.up",
    {
      parameters,
      doc: "Ids of the minions that answer a ping.",
      run: async (context, args) => (await ask(context, args)).up,
    },
  ],
  [
    "manage.down",
    {
      parameters: [...parametersOf("removekeys"), ...parameters],
      doc: "Ids of the minions that do not answer a ping; removekeys=True deletes their keys.",
      run: down,
    },
  ],
  [
    "manage.status",
    {
      parameters: [...parametersOf("output"), ...parameters],
      doc: "Both lists: up and down.",
      run: async (context, args) => {
        const { up, down: silent } = await ask(context, args);
        return { up, down: silent };
      },
    },
  ],
  [
    "manage.versions",
    {
      parameters: [],
      doc: "Which minions are older or newer than this master, and which do not answer.",
      run: versions,
    },
  ],
]);
