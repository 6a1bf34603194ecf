/**
 * `state.orchestrate` and its kin: SLS files that run in the operator's process, with states that act on the fleet. Source: Salt 3007's runner
 * `state`. The file and pillar roots, and the options for states, are the master's.
 */
import { join } from "node:path";
import { MasterClient } from "../../client/master-client.ts";
import { ownJid } from "../../client/runner-feed.ts";
import { loadMinionConfig } from "../../config/load.ts";
import type { MasterConfig } from "../../config/schema.ts";
import { SaltworksError } from "../../errors.ts";
import { callHere } from "../../minion/call/call-here.ts";
import type { ExtraArguments } from "../../runners/contract/contract.ts";
import { Sidecar } from "../../sidecar/sidecar.ts";
import { masterStates } from "../../states/modules/orchestrate/calls.ts";
import type { Results } from "../../states/run/contract.ts";
import { isGood } from "../../states/run/retcode.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { minionExtras } from "../input/minion-extras.ts";
import type { HereOutcome, OrchestrationFunction, OrchestrationHere } from "./here.ts";
import { ownPillar } from "./own-pillar.ts";
import { masterPort } from "./port.ts";
import { renderingWithPython } from "./python.ts";
import { templateFunctions } from "./template-functions.ts";

/** Keywords of these runners that go on to the execution function. */
const passedOn = ["saltenv", "pillar", "pillarenv", "exclude", "test", "queue"];

export const orchestrationFunctions: ReadonlyMap<string, OrchestrationFunction> = new Map([
  ...["state.orchestrate", "state.orch", "state.sls"].map((name): [string, OrchestrationFunction] => [
    name,
    orchestrate,
  ]),
  ["state.orchestrate_single", orchestrateSingle],
  ["state.orchestrate_show_sls", showSls],
]);

/** @throws SaltworksError FUNCTION_ARGUMENTS */
function keywordsOf(args: ValueMap): ValueMap {
  const pillar = args.get("pillar") ?? null;
  if (pillar !== null && !(pillar instanceof Map))
    throw new SaltworksError("FUNCTION_ARGUMENTS", "Pillar data must be formatted as a dictionary", {});
  const given = passedOn.map((name): [Value, Value] => [name, args.get(name) ?? null]);
  return new Map(given.filter(([, value]) => value !== null));
}

async function orchestrate(here: OrchestrationHere, args: ValueMap): Promise<HereOutcome> {
  const keywords = keywordsOf(args);
  if (!keywords.has("saltenv")) keywords.set("saltenv", "base");
  const jid = args.get("orchestration_jid");
  const value = await called(
    here,
    "state.sls",
    [args.get("mods") ?? null],
    keywords,
    typeof jid === "string" ? jid : undefined,
  );
  return outcomeOf(here.config, value);
}

async function orchestrateSingle(
  here: OrchestrationHere,
  args: ValueMap,
  { keywords: more }: ExtraArguments,
): Promise<HereOutcome> {
  const keywords = new Map([...more, ...keywordsOf(args)]);
  const positional = [args.get("fun") ?? null, args.get("name") ?? null];
  return outcomeOf(here.config, await called(here, "state.single", positional, keywords, undefined));
}

async function showSls(here: OrchestrationHere, args: ValueMap): Promise<HereOutcome> {
  const keywords = keywordsOf(args);
  if (!keywords.has("saltenv")) keywords.set("saltenv", "base");
  const value = await called(here, "state.show_sls", [args.get("mods") ?? null], keywords, undefined);
  if ("failure" in value) return failed(value.failure);
  return { value: new Map([[here.config.id, value.value]]), isSuccess: true };
}

type Called = { readonly value: Value } | { readonly failure: string };

function failed(failure: string): HereOutcome {
  return { value: `Exception occurred in runner state.orchestrate: ${failure}`, isSuccess: false };
}

/** As in Salt, the command ends with 1 if a state failed. */
function outcomeOf(config: MasterConfig, called: Called): HereOutcome {
  if ("failure" in called) return failed(called.failure);
  const isFine = called.value instanceof Map && isGood(called.value as Results, undefined);
  const value = new Map<Value, Value>([
    ["data", new Map([[config.id, called.value]])],
    ["outputter", "highstate"],
    ["retcode", isFine ? 0 : 1],
  ]);
  return { value, isSuccess: true };
}

/** Calls a function of the module `state` with the master's files, pillar and options. */
async function called(
  { config, host, log }: OrchestrationHere,
  fun: string,
  args: readonly Value[],
  kwargs: ValueMap,
  jid: string = ownJid(config.unique_jid),
): Promise<Called> {
  const client = await MasterClient.openFor(config, host.user, host.asker ?? host.user);
  const sidecar =
    config.salt_python === false ? undefined : new Sidecar(config, host.environment, (text) => log.warn(text));
  try {
    const port = masterPort(config, client);
    const fire = async (tag: string, data: unknown) => {
      const given = new Map<Value, Value>([["data", decode(encode(data as Value, "bin"))]]);
      await client.runner("event.send", [tag], given);
    };
    const extras = {
      ...minionExtras,
      ...(sidecar && { renderState: renderingWithPython(config, sidecar, minionExtras.renderState) }),
      orchestration: { states: masterStates(port), functions: templateFunctions(port), fire },
    };
    const answer = await callHere(
      minionConfigOf(config),
      {
        log,
        environment: { ...host.environment },
        extras,
        localPillar: ownPillar(config, host.environment, log),
      },
      { fun, args, kwargs, jid },
    );
    return "failure" in answer ? answer : { value: decode(encode(answer.value, "bin")) };
  } finally {
    client.close();
    sidecar?.close();
  }
}

/** The master's own minion: it works with the master's files and without a connection of its own. */
function minionConfigOf(config: MasterConfig) {
  const { id, file_roots, pillar_roots, renderer, failhard, state_top, state_auto_order, opts } = config;
  const own = { file_roots, pillar_roots, renderer, failhard, state_top, state_auto_order };
  const minion = loadMinionConfig(config.configDir, {
    id,
    file_client: "local",
    cachedir: join(config.cachedir, "salt_cmd"),
    ...own,
  });
  return { ...minion, opts: new Map([...minion.opts, ...[...opts].filter(([name]) => name.startsWith("jinja_"))]) };
}
