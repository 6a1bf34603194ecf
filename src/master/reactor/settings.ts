/** Reads the reactor's options. The entry `reactor` of `engines` may set some of them, as in Salt. */
import type { MasterConfig } from "../../config/load.ts";

/** The files of one tag. */
export type ReactorEntry = { readonly tag: string; readonly files: readonly string[] };
/** `ignored`: entries that are not a map of one tag, which Salt skips. */
export type ReactorSettings = {
  readonly isOn: boolean;
  readonly entries: readonly ReactorEntry[];
  readonly ignored: readonly string[];
  readonly callsAtOnceMax: number;
  readonly waitingMax: number;
};

type Options = Pick<MasterConfig, "reactor" | "engines" | "reactor_worker_threads" | "reactor_worker_hwm">;
const shownLength = 100;

export function reactorSettings(config: Options): ReactorSettings {
  const engine = engineOf(config.engines);
  const entries: ReactorEntry[] = [];
  const ignored: string[] = [];
  for (const written of config.reactor) {
    const [[tag, files] = [], ...more] = isMap(written) ? Object.entries(written) : [];
    const list = typeof files === "string" ? [files] : files;
    if (tag === undefined || more.length > 0 || !isTexts(list))
      ignored.push(JSON.stringify(written).slice(0, shownLength));
    else entries.push({ tag, files: list });
  }
  return {
    isOn: config.reactor.length > 0 || engine !== undefined,
    entries,
    ignored,
    callsAtOnceMax: numberOf(engine?.worker_threads) ?? config.reactor_worker_threads,
    waitingMax: numberOf(engine?.worker_hwm) ?? config.reactor_worker_hwm,
  };
}

function engineOf(engines: readonly unknown[]): Readonly<Record<string, unknown>> | undefined {
  for (const engine of engines) {
    if (engine === "reactor") return {};
    if (isMap(engine) && "reactor" in engine) return isMap(engine.reactor) ? engine.reactor : {};
  }
  return undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value > 0 ? value : undefined;
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
