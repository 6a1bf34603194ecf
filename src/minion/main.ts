/** The minion daemon's entry: composition, signals, exit code. */
import type { Logger } from "pino";
import { cacheHostId } from "../config/host/id.ts";
import type { MinionConfig } from "../config/schema.ts";
import { rejectedExitDelaySeconds } from "../limits.ts";
import { exitCodes, Minion } from "./minion.ts";
import { collectGrains } from "./modules/grains/core.ts";

/** Callbacks that tell the caller about its minion. */
export type MinionHooks = {
  /** Called when the bus is open and the minion starts to connect to its master. */
  readonly onReady?: (minion: { readonly answers: () => Promise<void>; readonly state: () => Promise<string> }) => void;
  readonly onStopping?: () => void;
};

/**
 * Runs until TERM or INT (0), until the master rejects this minion's key (77), or until the master does not match `master_finger` (42).
 * Throws errors of the start, for example an invalid configuration or a second minion with this id.
 */
export async function runMinion(
  config: MinionConfig,
  log: Logger,
  extrasUrl: string,
  hooks: MinionHooks = {},
): Promise<number> {
  for (const sentence of config.inert) log.warn(sentence);
  if (config.isIdComputed && config.minion_id_caching) cacheHostId(config.root_dir, config.id);
  const environment = { ...process.env };
  const leaving = new AbortController();
  const minion = await Minion.start({
    config,
    log,
    environment,
    extrasUrl,
    collectGrains: () => collectGrains({ config, environment, log }),
  });
  // The minion has no other thread. `answers` resolves at once, because a blocked thread could not call it.
  hooks.onReady?.({ answers: () => Promise.resolve(), state: () => Promise.resolve(minion.state()) });
  const stop = (signal: NodeJS.Signals) => {
    log.info({ signal }, "stopping");
    hooks.onStopping?.();
    leaving.abort();
    minion.stop().catch((error: unknown) => log.error({ err: error }, "the minion did not stop cleanly"));
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  try {
    const code = await minion.ended;
    if (code === exitCodes.rejected) await waitOrLeave(leaving.signal);
    return code;
  } finally {
    process.off("SIGTERM", stop);
    process.off("SIGINT", stop);
  }
}

/** Waits before a rejected minion exits. Service managers restart it at once; the wait keeps a rejected fleet from flooding its master. */
async function waitOrLeave(leaving: AbortSignal): Promise<void> {
  const { min, max } = rejectedExitDelaySeconds;
  const delayMs = (min + Math.random() * (max - min)) * 1_000;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, delayMs);
    leaving.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
