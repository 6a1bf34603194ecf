/**
 * Wheel functions `file_roots` and `pillar_roots`: read and write files in the roots of files and pillars.
 * Paths are relative to a root and never lead out of it, also not through links.
 */
import {
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { isDirectory } from "../../config/files/kinds.ts";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { isConfigMap } from "../../config/yaml/values.ts";
import { SaltworksError } from "../../errors.ts";
import { rootsFileBytesMax, rootsFilesListedMax } from "../../limits.ts";
import type { Encodable, ValueMap } from "../../wire/values.ts";
import { parametersOf, textArgument } from "../contract/arguments.ts";
import type { RunnerContext, RunnerFunction } from "../contract/contract.ts";

const { O_CREAT, O_NOFOLLOW, O_TRUNC, O_WRONLY } = constants;
/** Mode of new files before the umask, as in Python. */
const fileMode = 0o666;

type Option = "file_roots" | "pillar_roots";
type Listed = Map<string, Encodable>;

function rootsOf({ config }: RunnerContext, option: Option): ReadonlyMap<string, readonly string[]> {
  const value: unknown = config[option];
  if (!isConfigMap(value)) return new Map();
  return new Map(
    Object.entries(value).map(([env, roots]) => [env, Array.isArray(roots) ? roots.map(String) : [String(roots)]]),
  );
}

/** The path of a name below a root, links resolved. Undefined if the name or a link leads out of the root, or a link leads to nothing. */
function pathBelow(root: string, name: string): { readonly path: string; readonly real: string } | undefined {
  const path = join(root, name);
  if (name.includes("\0") || !isBelow(root, path)) return undefined;
  try {
    const realRoot = realpathSync(root);
    for (let parent = path; ; parent = dirname(parent)) {
      const real = realOrUndefined(parent);
      if (real === undefined) {
        // A write would create the file that the link points to.
        if (lstatSync(parent, { throwIfNoEntry: false })?.isSymbolicLink() === true) return undefined;
        continue;
      }
      if (real !== realRoot && !isBelow(realRoot, real)) return undefined;
      return { path, real: join(real, relative(parent, path)) };
    }
  } catch (error) {
    if (hasCodeIn(error, "ENOENT", "ENOTDIR", "ELOOP")) return undefined;
    throw error;
  }
}

function isBelow(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function realOrUndefined(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch (error) {
    if (hasCodeIn(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
}

/** Path and content of the file in each root that has it. @throws SaltworksError FUNCTION_FAILED for a file over the limit */
function filesNamed(context: RunnerContext, option: Option, args: ValueMap): { path: string; bytes: Buffer }[] {
  const roots = rootsOf(context, option).get(textArgument(args, "saltenv", "base")) ?? [];
  return roots.flatMap((root) => {
    const { path, real } = pathBelow(root, textArgument(args, "path")) ?? {};
    const stat = real === undefined ? undefined : statSync(real, { throwIfNoEntry: false });
    if (path === undefined || real === undefined || stat === undefined || !stat.isFile()) return [];
    if (stat.size > rootsFileBytesMax)
      throw new SaltworksError("FUNCTION_FAILED", `${path} has more than ${rootsFileBytesMax} bytes`, {});
    return [{ path, bytes: readFileSync(real) }];
  });
}

function isText(bytes: Buffer): boolean {
  if (bytes.includes(0)) return false;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    // A file that is not UTF-8 is not text, so the answer is false.
    return false;
  }
}

function listEnvironment(context: RunnerContext, option: Option, env: string): Listed {
  const found: Listed = new Map();
  let count = 0;
  const below = (directory: string): Listed => {
    const listed: Listed = new Map();
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      count += 1;
      if (count > rootsFilesListedMax)
        throw new SaltworksError("FUNCTION_FAILED", `more than ${rootsFilesListedMax} files`, {});
      listed.set(entry.name, entry.isDirectory() ? below(join(directory, entry.name)) : "f");
    }
    return listed;
  };
  for (const root of rootsOf(context, option).get(env) ?? [])
    found.set(root, isDirectory(root) ? below(root) : new Map());
  return found;
}

function write(context: RunnerContext, option: Option, args: ValueMap): string {
  const [env, path, index] = [
    textArgument(args, "saltenv", "base"),
    textArgument(args, "path"),
    args.get("index") ?? 0,
  ];
  const roots = rootsOf(context, option).get(env);
  if (roots === undefined) return `Named environment ${env} is not present`;
  const root = typeof index === "number" ? roots.at(index) : undefined;
  if (root === undefined) return `Specified index ${String(index)} in environment ${env} is not present`;
  if (isAbsolute(path)) return `The path passed in ${path} is not relative to the environment ${env}`;
  const file = pathBelow(root, path);
  if (file === undefined) return option === "file_roots" ? `Invalid path: ${path}` : "Invalid path";
  mkdirSync(dirname(file.real), { recursive: true });
  // O_NOFOLLOW: a link made since the check is not followed.
  const descriptor = openSync(file.real, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, fileMode);
  try {
    writeFileSync(descriptor, textArgument(args, "data"));
  } finally {
    closeSync(descriptor);
  }
  return `Wrote data to file ${file.path}`;
}

function functionsOf(option: Option): [string, RunnerFunction][] {
  const named = parametersOf("path!", "saltenv");
  return [
    [
      `${option}.find`,
      {
        parameters: named,
        doc: "The files of this name in an environment, each with its kind: txt or bin.",
        isOffline: true,
        run: (context, args) =>
          filesNamed(context, option, args).map(({ path, bytes }) => ({ [path]: isText(bytes) ? "txt" : "bin" })),
      },
    ],
    [
      `${option}.list_env`,
      {
        parameters: parametersOf("saltenv"),
        doc: "Every file of an environment, as maps of directories.",
        isOffline: true,
        run: (context, args) => listEnvironment(context, option, textArgument(args, "saltenv", "base")),
      },
    ],
    [
      `${option}.list_roots`,
      {
        parameters: [],
        doc: "Every file of all environments.",
        isOffline: true,
        run: (context) =>
          new Map(
            [...rootsOf(context, option).keys()].map((env) => [env, [listEnvironment(context, option, env)]] as const),
          ),
      },
    ],
    [
      `${option}.read`,
      {
        parameters: named,
        doc: "The content of the files of this name in an environment, if it is text.",
        isOffline: true,
        run: (context, args) =>
          filesNamed(context, option, args)
            .filter(({ bytes }) => isText(bytes))
            .map(({ path, bytes }) => ({ [path]: bytes.toString("utf8") })),
      },
    ],
    [
      `${option}.write`,
      {
        parameters: parametersOf("data!", "path!", "saltenv", "index"),
        doc: "Writes a file into the first directory of an environment, or into the directory at `index`.",
        run: (context, args) => write(context, option, args),
      },
    ],
  ];
}

export const rootsWheel: ReadonlyMap<string, RunnerFunction> = new Map(
  (["file_roots", "pillar_roots"] as const).flatMap(functionsOf),
);
