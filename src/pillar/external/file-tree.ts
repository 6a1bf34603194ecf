/**
 * Source `file_tree`: files below `root_dir/hosts/ID` and `root_dir/nodegroups/GROUP` as values, directories as maps.
 * Source: Salt 3007's module of that name, observed.
 */
import { readdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { isAbsolute, join, normalize } from "node:path";
import { extPillarBytesMax, fileTreeDepthMax, fileTreeEntriesMax } from "../../limits.ts";
import { compileGlob } from "../../python/fnmatch.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { isInside } from "../input/files.ts";
import { merged } from "../input/merge.ts";
import { matchesMinion } from "../input/minion.ts";
import { sourceFault } from "../input/source-fault.ts";
import type { ExternalSource, SourceArguments, SourceContext, TemplatePipe } from "./contract.ts";

type Options = {
  readonly followsLinks: boolean;
  readonly keepsNewline: boolean | readonly string[];
  /** Undefined: files become values without rendering. */
  readonly pipe: TemplatePipe | undefined;
};

function textsOf(value: Value | undefined): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function optionsOf(args: SourceArguments, context: SourceContext, root: string): Options | undefined {
  const keeps = args.get("keep_newline") ?? false;
  if (typeof keeps !== "boolean" && !Array.isArray(keeps)) {
    context.note(`file_tree: keep_newline must be True, False or a list of globs; ${root} is skipped`);
    return undefined;
  }
  const byDefault = args.get("render_default") ?? "";
  const pipe = {
    byDefault: typeof byDefault === "string" ? byDefault : "",
    blacklist: textsOf(args.get("renderer_blacklist")),
    whitelist: textsOf(args.get("renderer_whitelist")),
  };
  return {
    followsLinks: args.get("follow_dir_links") === true,
    keepsNewline: typeof keeps === "boolean" ? keeps : keeps.map(String),
    pipe: args.get("template") === true ? pipe : undefined,
  };
}

/** Reads one directory of a host or nodegroup. */
class Tree {
  readonly #context: SourceContext;
  readonly #options: Options;
  #entryCount = 0;
  #bytes = 0;

  constructor(context: SourceContext, options: Options) {
    this.#context = context;
    this.#options = options;
  }

  /** `prefix`: the path below the top directory, `.` for the top directory. */
  read(directory: string, prefix: string, depth: number): ValueMap {
    if (depth > fileTreeDepthMax) throw sourceFault(`${directory} lies deeper than ${fileTreeDepthMax} directories`);
    const directories: [string, Value][] = [];
    const files: [string, Value][] = [];
    for (const { name, isLink } of this.#listing(directory)) {
      this.#entryCount += 1;
      if (this.#entryCount > fileTreeEntriesMax) throw sourceFault(`more than ${fileTreeEntriesMax} files`);
      const path = join(directory, name);
      const stats = statsOf(this.#context, path);
      if (stats?.isDirectory() === true) {
        const isWalked = this.#options.followsLinks || !isLink;
        const below = prefix === "." ? name : `${prefix}/${name}`;
        directories.push([name, isWalked ? this.read(path, below, depth + 1) : new Map()]);
      } else if (stats?.isFile() === true) {
        const value = this.#file(path, `${prefix}/${name}`, stats.size);
        if (value !== undefined) files.push([name, value]);
      } else this.#context.note(`file_tree: ${path}: not a regular file`);
    }
    return new Map([...directories, ...files]);
  }

  /** Entries in sorted order, so that a tree always gives the same pillar. */
  #listing(directory: string): readonly { readonly name: string; readonly isLink: boolean }[] {
    try {
      return readdirSync(directory, { withFileTypes: true })
        .map((entry) => ({ name: entry.name, isLink: entry.isSymbolicLink() }))
        .sort((a, b) => (a.name < b.name ? -1 : 1));
    } catch (error) {
      this.#context.note(`file_tree: ${directory}: ${codeOf(error)}`);
      return [];
    }
  }

  #file(path: string, place: string, size: number): Value | undefined {
    this.#bytes += size;
    if (this.#bytes > extPillarBytesMax) throw sourceFault(`more than ${extPillarBytesMax} bytes of files`);
    let contents: Buffer;
    try {
      contents = readFileSync(path);
    } catch (error) {
      this.#context.note(`file_tree: error reading ${path}: ${codeOf(error)}`);
      return undefined;
    }
    if (contents.at(-1) === 0x0a && !this.#keepsNewline(place)) contents = contents.subarray(0, -1);
    const { pipe } = this.#options;
    if (pipe === undefined) return Uint8Array.from(contents);
    return this.#context.render(path, contents.toString("utf8"), pipe);
  }

  #keepsNewline(place: string): boolean {
    const { keepsNewline } = this.#options;
    if (typeof keepsNewline === "boolean") return keepsNewline;
    return keepsNewline.some((pattern) => compileGlob(pattern).matches(place));
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error);
}

/** Undefined if the path is missing or cannot be read: a loop of links, or a directory of another user. */
function statsOf({ note }: SourceContext, path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    note(`file_tree: ${path}: ${codeOf(error)}`);
    return undefined;
  }
}

function isDirectory(context: SourceContext, path: string): boolean {
  return statsOf(context, path)?.isDirectory() === true;
}

/** @throws SaltworksError PILLAR_FAILED if the folder cannot be read: otherwise a group's data would silently be missing */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    throw sourceFault(`${folder} cannot be read: ${codeOf(error)}`);
  }
}

function ofGroups(context: SourceContext, root: string, options: Options): ValueMap {
  const { settings, minion } = context;
  const folder = join(root, "nodegroups");
  if (settings.nodegroups.size === 0 || !isDirectory(context, folder)) return new Map();
  return namesIn(folder)
    .filter((name) => settings.nodegroups.has(name) && matchesMinion(minion, settings, "nodegroup", name))
    .map((name) => new Tree(context, options).read(join(folder, name), ".", 0))
    .reduce((below, above) => merged(below, above, false), new Map());
}

function ofRoot(context: SourceContext, args: SourceArguments, root: string): ValueMap {
  if (!isDirectory(context, root)) {
    context.note(`file_tree: root_dir ${root} does not exist or is not a directory`);
    return new Map();
  }
  const options = optionsOf(args, context, root);
  if (options === undefined) return new Map();
  const groups = ofGroups(context, root, options);
  const { id } = context.minion;
  const host = join(root, "hosts", id);
  const stats = isInside(id) && !id.includes("/") ? statsOf(context, host) : undefined;
  if (stats === undefined) return groups;
  if (!stats.isDirectory()) {
    context.note(`file_tree: ${host} exists, but is not a directory`);
    return groups;
  }
  return merged(groups, new Tree(context, options).read(host, ".", 0), false);
}

/** The directories of `root_dir`. A relative one is looked for below each pillar root of the requested environment. */
function rootsOf({ pillarenv, roots, note }: SourceContext, root: string): readonly string[] {
  if (isAbsolute(root)) return [root];
  if (pillarenv === undefined) {
    note("file_tree: root_dir is relative but pillarenv is not set");
    return [];
  }
  const below = roots.get(pillarenv);
  if (below === undefined) {
    note(`file_tree: root_dir is relative but no pillar_roots are specified for pillarenv ${pillarenv}`);
    return [];
  }
  const directories = below.map((directory) => normalize(join(directory, root)));
  return directories.filter((directory, index) => directory !== directories[index - 1]);
}

export const fileTree: ExternalSource = {
  parameters: [
    "root_dir",
    "follow_dir_links",
    "debug",
    "keep_newline",
    "render_default",
    "renderer_blacklist",
    "renderer_whitelist",
    "template",
  ],
  requiredCount: 0,
  // A minion that may ask for this source could choose the directory.
  isForMinions: false,
  read: (context, args) => {
    const root = args.get("root_dir") ?? null;
    if (typeof root !== "string" || root === "") {
      context.note("file_tree: no root_dir specified");
      return new Map();
    }
    return rootsOf(context, root)
      .map((directory) => ofRoot(context, args, directory))
      .reduce((below, above) => merged(below, above, false), new Map());
  },
};
