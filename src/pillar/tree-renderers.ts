/** Renderers for pillar files outside of `pillar_roots`, with the settings that they need: kept by their directories, because parsed templates are dear. */
import { pillarTreeRenderersMax } from "../limits.ts";
import type { PillarFiles } from "./input/files.ts";
import type { PillarSettings } from "./input/settings.ts";
import { SlsRenderer } from "./sls.ts";

export type TreeRenderer = { readonly settings: PillarSettings; readonly renderer: SlsRenderer };

export class TreeRenderers {
  readonly #own: PillarSettings;
  readonly #files: PillarFiles;
  /** Least recently used first. */
  readonly #kept = new Map<string, TreeRenderer>();

  constructor(own: PillarSettings, files: PillarFiles) {
    this.#own = own;
    this.#files = files;
  }

  /** For an environment of these directories alone, without external sources. */
  of(environment: string, directories: readonly string[]): TreeRenderer {
    const key = [environment, ...directories].join("\0");
    const found = this.#kept.get(key) ?? this.#make(environment, directories);
    this.#kept.delete(key);
    this.#kept.set(key, found);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > pillarTreeRenderersMax && oldest !== undefined) this.#kept.delete(oldest);
    return found;
  }

  #make(environment: string, directories: readonly string[]): TreeRenderer {
    const roots = new Map<string, readonly string[]>([["base", []]]).set(environment, directories);
    const settings = { ...this.#own, roots, sources: [], errors: [], addsOptions: false };
    return { settings, renderer: new SlsRenderer(settings, this.#files) };
  }
}
