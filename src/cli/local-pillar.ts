/** The pillar of a call without a master, from `pillar_roots` of the minion's configuration. */
import type { Logger } from "pino";
import { type MasterConfig, type MinionConfig, masterOptions } from "../config/schema.ts";
import type { LocalPillar } from "../minion/call-host.ts";
import { PillarCompiler } from "../pillar/compile.ts";
import { pillarSettings } from "../pillar/settings.ts";
import type { Encodable, Value, ValueMap } from "../wire/values.ts";

/** Options of pillars that only a master has are at their defaults. */
export function localPillar(config: MinionConfig, log: Logger): LocalPillar {
  const defaults = Object.fromEntries(Object.entries(masterOptions).map(([name, option]) => [name, option.default]));
  const { pillar_roots, pillarenv, renderer, opts, unbuilt, saltenv: ownEnvironment } = config;
  const { ext_pillar: sources } = Object.fromEntries(opts);
  const own = { pillar_roots, pillarenv, renderer, opts, unbuilt, ext_pillar: Array.isArray(sources) ? sources : [] };
  const compiler = new PillarCompiler(pillarSettings({ ...defaults, ...own } as unknown as MasterConfig));
  return (grains: ValueMap, { saltenv: asked, pillarenv: askedPillar, override }) => {
    const { pillar, faults } = compiler.compile({
      minion: { id: config.id, grains },
      saltenv: asked ?? ownEnvironment ?? undefined,
      pillarenv: askedPillar,
      override: mapOf(override),
    });
    for (const fault of faults) log.error(fault);
    return pillar;
  };
}

function mapOf(value: Encodable): ValueMap {
  return value instanceof Map ? new Map<Value, Value>(value as ValueMap) : new Map();
}
