/** The pillar of an orchestration: that of the master itself, from its files and all external sources. */
import type { Logger } from "pino";
import { loadMasterConfig } from "../../config/load.ts";
import type { MasterConfig } from "../../config/schema.ts";
import type { LocalPillar } from "../../minion/call/call-host.ts";
import { type CompiledPillar, PillarCompiler } from "../../pillar/compile.ts";
import { waitsOf } from "../../pillar/external/merge-sources.ts";
import { CommandGuard } from "../../pillar/external/programs/guard.ts";
import { programsOf } from "../../pillar/external/programs/run-program.ts";
import { runSources } from "../../pillar/external/run-sources.ts";
import { SitePython } from "../../pillar/in-python/ask-python.ts";
import { pillarenvOf, pillarSettings } from "../../pillar/input/settings.ts";
import { servedNames, withSitePython } from "../../sidecar/availability.ts";
import { askBlocking } from "../../sidecar/blocking.ts";
import { openPythonThread } from "../../sidecar/own-thread.ts";
import { lookUpSdb } from "../../sidecar/sdb.ts";
import type { ValueMap } from "../../wire/values.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Runs the commands of sources, asks their servers, and renders beside Python only if something needs it. */
export function ownPillar(loaded: MasterConfig, environment: Environment, log: Pick<Logger, "error">): LocalPillar {
  return async (grains, { saltenv, pillarenv, override }) => {
    const { found: sdb, failed } = await lookUpSdb(loaded, environment);
    for (const [uri, why] of failed) log.error(`${uri} cannot be looked up: ${why}`);
    const settled = sdb.size === 0 || failed.size > 0 ? loaded : loadMasterConfig(loaded.configDir, {}, { sdb });
    const { config } = await withSitePython(settled, environment);
    const python = sitePython(config);
    const settings = { ...pillarSettings(config), python };
    const compiler = new PillarCompiler(settings);
    const minion = { id: config.id, grains };
    const environments = { saltenv, pillarenv: pillarenvOf(settings, { saltenv, pillarenv }) };
    const { outcomes } = waitsOf(settings).isWaiting
      ? await runSources(
          settings,
          { ...minion, ...environments },
          environment,
          config.ext_pillar_timeout * 1_000,
          programsOf(new CommandGuard()),
        )
      : {};
    const own: ValueMap = override instanceof Map ? (override as ValueMap) : new Map();
    const compile = () => compiler.compile({ minion, saltenv, pillarenv, override: own, outcomes });
    const { pillar, faults } = python === undefined ? compile() : besidePython(config, environment, python, compile);
    for (const fault of faults) log.error(fault);
    return pillar;
  };
}

function sitePython(config: MasterConfig): SitePython | undefined {
  if (config.salt_python === false) return undefined;
  const { ext_pillar_timeout: sourceSeconds, pillar_render_timeout: renderSeconds } = config;
  return new SitePython(servedNames(config, "pillar"), {
    sourceMs: sourceSeconds * 1_000,
    renderMs: renderSeconds * 1_000,
  });
}

function besidePython(
  config: MasterConfig,
  environment: Environment,
  python: SitePython,
  compile: () => CompiledPillar,
): CompiledPillar {
  python.begin(undefined);
  const compiled = compile();
  if (!python.wasNeeded) return compiled;
  const { line, close } = openPythonThread(config, environment);
  try {
    python.begin((question, timeoutMs) => askBlocking(line, question, timeoutMs));
    return compile();
  } finally {
    close();
  }
}
