/** Finds the SLS files that names mean, in the roots of an environment. */
import { compileGlob } from "../python/fnmatch.ts";
import type { PillarFile, PillarFiles } from "./input/files.ts";

export type SlsFile = { readonly file: PillarFile; readonly path: string; readonly isInit: boolean };

export class SlsNames {
  readonly #files: PillarFiles;
  readonly #roots: ReadonlyMap<string, readonly string[]>;
  readonly #available = new Map<string, readonly string[]>();

  constructor(files: PillarFiles, roots: ReadonlyMap<string, readonly string[]>) {
    this.#files = files;
    this.#roots = roots;
  }

  find(environment: string, sls: string): SlsFile | undefined {
    const roots = this.#roots.get(environment) ?? [];
    const base = sls.replaceAll(".", "/");
    for (const [path, isInit] of [
      [`${base}.sls`, false],
      [`${base}/init.sls`, true],
    ] as const) {
      const file = this.#files.read(roots, path);
      if (file !== undefined) return { file, path, isInit };
    }
    return undefined;
  }

  /** Expands wildcards to names of SLS files. Returns an empty list for a name without wildcards. */
  expand(environment: string, pattern: string): readonly string[] {
    if (!/[*?[]/.test(pattern)) return [];
    let names = this.#available.get(environment);
    if (names === undefined) {
      names = this.#files.slsNames(this.#roots.get(environment) ?? []);
      this.#available.set(environment, names);
    }
    const glob = compileGlob(pattern);
    return names.filter((name) => glob.matches(name));
  }

  /** What an `include` names, in a file of this name. */
  included(
    place: { readonly sls: string; readonly environment: string; readonly isInit: boolean },
    name: string,
  ): readonly string[] {
    const { sls, environment, isInit } = place;
    const parts = sls.split(".");
    const own = isInit ? parts : parts.slice(0, -1);
    const full = name.startsWith(".") ? [...own, name.slice(1)].join(".") : name;
    const bare = name.replace(/^\.+/, "").replaceAll("/", ".");
    const exact = this.#existing(environment, bare);
    const names = [...exact, ...this.#existing(environment, full)];
    return names.length > 0 ? names : [full];
  }

  /** Names of existing SLS files: all that match a wildcard (`fnmatch`), or the given name if its file exists. */
  #existing(environment: string, pattern: string): readonly string[] {
    if (/[*?[]/.test(pattern)) return this.expand(environment, pattern);
    const isDotted = !pattern.includes("/");
    return isDotted && this.find(environment, pattern) !== undefined ? [pattern] : [];
  }
}
