/** Compiles the pillar of a call without a master from `pillar_roots` and the pillar options in the minion's configuration. */
import type { Logger } from "pino";
import { checkValue } from "../../config/check-value.ts";
import { type MasterConfig, type MinionConfig, masterOptions } from "../../config/schema.ts";
import type { LocalPillar } from "../../minion/call/call-host.ts";
import { PillarCompiler } from "../../pillar/compile.ts";
import { pillarSettings } from "../../pillar/input/settings.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";

/** The master's pillar options, which the minion's table lacks. Without a master they are read from the minion's file. */
const pillarOptions = [
  "ext_pillar",
  "ext_pillar_first",
  "ext_pillar_failures",
  "exclude_ext_pillar",
  "pillar_merge_lists",
  "pillar_includes_override_sls",
  "pillar_safe_render_error",
  "pillar_source_merging_strategy",
  "pillarenv_from_saltenv",
  "pillar_opts",
  "env_order",
  "state_top",
  "nodegroups",
  "decrypt_pillar",
  "decrypt_pillar_default",
  "decrypt_pillar_delimiter",
  "decrypt_pillar_renderers",
  "gpg_cache",
  "gpg_cache_ttl",
  "gpg_decrypt_must_succeed",
  "gpg_keydir",
] as const satisfies readonly (keyof typeof masterOptions)[];

/** Reads `pillarOptions` from the minion's file. A value of the wrong form is logged and replaced by the default. */
function ownOptions({ opts }: MinionConfig, log: Logger): Record<string, unknown> {
  const own: Record<string, unknown> = {};
  for (const name of pillarOptions) {
    const written = opts.get(name) ?? null;
    if (written === null) continue;
    const checked = checkValue(masterOptions[name], written);
    if ("value" in checked) own[name] = checked.value;
    else log.error(`${name}: ${checked.fault}; the default is used`);
  }
  return own;
}

/** As on a master, options that are not built put an error into the pillar. */
export function localPillar(config: MinionConfig, log: Logger): LocalPillar {
  const defaults = Object.fromEntries(Object.entries(masterOptions).map(([name, option]) => [name, option.default]));
  const { configDir, pillar_roots, file_roots, pillarenv, renderer, opts, unbuilt, saltenv: ownEnvironment } = config;
  const own = { configDir, pillar_roots, file_roots, pillarenv, renderer, opts, unbuilt };
  const settings = { ...defaults, ...own, ...ownOptions(config, log) } as unknown as MasterConfig;
  const compiler = new PillarCompiler(pillarSettings(settings, "minion"));
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
