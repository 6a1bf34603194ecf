/** A minion's surroundings for functions under test: configuration, facts, and a host that keeps what it is asked. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { minionExtras } from "../../../src/cli/input/minion-extras.ts";
import { loadMinionConfig } from "../../../src/config/load.ts";
import type { MinionConfig } from "../../../src/config/schema.ts";
import { SaltworksError } from "../../../src/errors.ts";
import { parseWords } from "../../../src/minion/call/call.ts";
import { makeContext, type Surroundings } from "../../../src/minion/functions/call-context.ts";
import { JobRecords } from "../../../src/minion/functions/job-records.ts";
import type { CallContext, PillarOptions } from "../../../src/minion/functions/module-contract.ts";
import { type Outcome, runFunction } from "../../../src/minion/functions/run-function.ts";
import type { Environment } from "../../../src/minion/modules/machine/environment.ts";
import { loadModules } from "../../../src/minion/modules/registry.ts";
import { asValue, type Encodable, type Value, type ValueMap } from "../../../src/wire/values.ts";

export type WorldOptions = {
  /** The minion's configuration file. */
  readonly minion?: string;
  readonly grains?: ValueMap;
  readonly pillar?: ValueMap;
  /** The pillar that the master renders; the same as `pillar` if undefined. */
  readonly freshPillar?: ValueMap | ((options: PillarOptions) => ValueMap);
  readonly environment?: Environment;
  /** The master's answer to a request. Undefined: no master. */
  readonly master?: (load: { readonly [name: string]: Value }) => Value;
};

export type Fired = { readonly to: "master" | "minion"; readonly tag: string; readonly data: Value };

export type World = {
  readonly config: MinionConfig;
  readonly context: CallContext;
  /** Events, in order. */
  readonly fired: Fired[];
  /** Requests to the master, in order. */
  readonly asked: ValueMap[];
  readonly logged: string[];
  /** Calls a function with words as an operator types them. */
  readonly call: (words: readonly string[]) => Promise<Outcome>;
};

export async function openWorld(root: string, options: WorldOptions = {}): Promise<World> {
  const configDir = join(root, "etc");
  mkdirSync(configDir, { recursive: true });
  writeFileSync(join(configDir, "minion"), options.minion ?? `id: unit\nroot_dir: ${root}\n`);
  const config = loadMinionConfig(configDir);
  const grains = options.grains ?? new Map<Value, Value>();
  const pillar = options.pillar ?? new Map<Value, Value>();
  const fired: Fired[] = [];
  const asked: ValueMap[] = [];
  const logged: string[] = [];
  const log = (text: string) => void logged.push(text);
  const surroundings: Surroundings = {
    config,
    functions: loadModules(config, options.environment ?? {}),
    facts: () => ({ grains, pillar }),
    extras: minionExtras,
    records: await JobRecords.open(config.cachedir),
    log: { debug: log, info: log, warn: log, error: log },
    host: {
      fireMaster: async (tag, data) => fired.push({ to: "master", tag, data: asValue(data) }) > 0,
      fireMinion: async (tag, data) => void fired.push({ to: "minion", tag, data: asValue(data) }),
      setGrains: async () => undefined,
      masterRequest: async (load) => {
        if (options.master === undefined) throw new SaltworksError("MASTER_UNREACHABLE", "no master");
        asked.push(asValue(load) as ValueMap);
        return options.master(Object.fromEntries(asValue(load) as ValueMap));
      },
      compilePillar: async (asked = {}) => {
        const { freshPillar = pillar } = options;
        return typeof freshPillar === "function" ? freshPillar(asked) : freshPillar;
      },
    },
  };
  const callOf = (fun: string) => ({ jid: "20261120155014383034", fun, publish: publishOf(fun) });
  return {
    config,
    fired,
    asked,
    logged,
    context: makeContext(surroundings, callOf("test.ping")).context,
    call: ([fun = "", ...words]) => runFunction(surroundings, callOf(fun), parseWords(words)),
  };
}

function publishOf(fun: string): ValueMap {
  return new Map<Value, Value>([
    ["fun", fun],
    ["jid", "20261120155014383034"],
    ["tgt", "unit"],
  ]);
}

/** Calls functions of a world that a hook opens later. */
export function callsIn(world: () => World): (...words: readonly string[]) => Promise<Value> {
  return async (...words) => asValue((await world().call(words)).value);
}

/** Only the value. */
export async function valueOfCall(world: World, ...words: readonly string[]): Promise<Encodable> {
  return (await world.call(words)).value;
}
