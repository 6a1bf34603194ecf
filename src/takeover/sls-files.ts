/** What becomes of the pillar and reactor files: their renderers, filters and functions. */
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { entriesIfThere } from "../config/files/missing.ts";
import type { MasterConfig } from "../config/load.ts";
import { hasCode, type SaltworksError } from "../errors.ts";
import { checkedFilesMax, pillarFileBytesMax } from "../limits.ts";
import { filesNamed } from "../pillar/input/file-glob.ts";
import { filterNames } from "../pillar/jinja/filters/registry.ts";
import { saltFunctionNames } from "../pillar/salt-functions.ts";
import { isPillarRenderer, stagesOf } from "../pillar/sls.ts";
import { runnerFunctions } from "../runners/registry.ts";
import { wheelFunctions } from "../runners/wheel.ts";
import { type Finding, looked, unread } from "./finding.ts";
import { namesInTemplate } from "./template-names.ts";

type Sls = { readonly path: string; readonly text: string };

/** Reached by `salt['..']`. */
const saltFunctions: ReadonlySet<string> = new Set(saltFunctionNames());
const filters: ReadonlySet<string> = new Set(filterNames());
const templateEndings = /\.(?:sls|jinja2?|j2)$/;

/** One finding for each name of a file that is not there, and a count of the files in which all is. */
export function pillarFindings(config: MasterConfig): readonly Finding[] {
  const roots = Object.entries(config.pillar_roots).flatMap(([saltenv, folders]) =>
    (folders as readonly string[]).map((folder) => ({ saltenv, folder })),
  );
  return roots.flatMap(({ saltenv, folder }) =>
    looked("pillar_roots", folder, () => {
      const files = filesBelow(folder);
      const others = files.map((file) => pillarFileFindings(file, config.renderer)).filter(({ length }) => length > 0);
      const about = `of ${files.length} files of '${saltenv}', ${files.length - others.length} use nothing that is missing here`;
      const rest = `has more than ${checkedFilesMax} files; the rest was not read`;
      return [
        ...others.flat(),
        { verdict: "kept", name: "pillar_roots", place: folder, about },
        ...(files.length > checkedFilesMax ? [unread("pillar_roots", folder, rest)] : []),
      ];
    }),
  );
}

function pillarFileFindings(path: string, byDefault: string): readonly Finding[] {
  return looked("file", path, () => {
    const { size } = statSync(path);
    if (size > pillarFileBytesMax) return [tooLarge(path, size)];
    const file = { path, text: textOf(path) };
    const renderers = path.endsWith(".sls") ? rendererFindings(file, byDefault) : [];
    const isTemplate = !path.endsWith(".sls") || stagesOf(file.text, byDefault).includes("jinja");
    return [...renderers, ...(isTemplate ? templateFindings(file) : [])];
  });
}

function tooLarge(path: string, bytes: number): Finding {
  const about = `has ${bytes} bytes; a file has at most ${pillarFileBytesMax} here`;
  return { verdict: "lost", name: "size", place: path, about };
}

function templateFindings({ path, text }: Sls): readonly Finding[] {
  try {
    return namesInTemplate(text)
      .filter(({ kind, name }) => !(kind === "filter" ? filters : saltFunctions).has(name))
      .map(({ kind, name, line }) => ({
        ...({ verdict: "lost", place: `${path}:${line}` } as const),
        name: kind === "filter" ? `filter ${name}` : `salt['${name}']`,
        about: `this ${kind} is not there for templates of the master`,
        ...(kind === "filter" ? {} : { plugins: [{ kind: "functions" as const, name }] }),
      }));
  } catch (error) {
    if (!hasCode(error, "PILLAR_FAILED")) throw error;
    const { message, detail } = error as SaltworksError;
    return [{ verdict: "lost", name: "template", place: `${path}:${detail.line ?? 1}`, about: message }];
  }
}

/** @param files - paths, globs of paths, or `salt://` below `file_roots`, as `reactor` names them */
export function reactorFindings(config: MasterConfig, files: readonly string[]): readonly Finding[] {
  return [...new Set(files)].flatMap((written) =>
    looked("reactor", written, () => {
      const paths = pathsOf(config, written);
      if (paths.length === 0)
        return [
          { verdict: "changed", name: "reactor", place: written, about: "there is no such file, so nothing reacts" },
        ];
      return paths.flatMap((path) => {
        const { size } = statSync(path);
        if (size > pillarFileBytesMax) return [tooLarge(path, size)];
        const file = { path, text: textOf(path) };
        const faults = [
          ...rendererFindings(file, config.renderer),
          ...templateFindings(file),
          ...reactionFindings(file),
        ];
        return faults.length > 0
          ? faults
          : [{ verdict: "kept", name: "reactor", place: path, about: "reacts as in Salt" }];
      });
    }),
  );
}

function pathsOf(config: MasterConfig, written: string): readonly string[] {
  const [, inside, query = ""] = /^salt:\/\/([^?]*)\??(.*)$/.exec(written) ?? [];
  if (inside === undefined) return filesNamed(written);
  const roots = config.file_roots[new URLSearchParams(query).get("saltenv") ?? "base"] ?? [];
  const paths = (roots as readonly string[]).map((root) => join(root, inside));
  return paths.filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true).slice(0, 1);
}

function rendererFindings({ path, text }: Sls, byDefault: string): readonly Finding[] {
  const missing = stagesOf(text, byDefault).filter((stage) => !isPillarRenderer(stage));
  return missing.length === 0
    ? []
    : [
        {
          ...({ verdict: "lost", name: missing.join(", "), place: `${path}:1` } as const),
          about: "this renderer is not built here",
          plugins: missing.map((name) => ({ kind: "renderers", name })),
        },
      ];
}

/** Names of functions as the file writes them. What a template makes of other texts is not known. */
function reactionFindings({ path, text }: Sls): readonly Finding[] {
  const findings: Finding[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    const [, kind = "", name = ""] = /^\s*(?:- )?["']?(runner|wheel|caller)\.([\w.]+)/.exec(line) ?? [];
    if (kind === "") continue;
    const functions: ReadonlyMap<string, unknown> = kind === "wheel" ? wheelFunctions : runnerFunctions;
    if (kind !== "caller" && functions.has(name)) continue;
    const about = kind === "caller" ? "reactions by `caller` run in Python" : `this ${kind} function is not built here`;
    const plugins = [{ kind: kind as "runner" | "wheel" | "caller", name }];
    findings.push({ verdict: "lost", name: `${kind}.${name}`, place: `${path}:${index + 1}`, about, plugins });
  }
  return findings;
}

/** Paths of templates. A directory that links to one above itself is read once. @returns little more than `checkedFilesMax` */
function filesBelow(root: string): readonly string[] {
  const found: string[] = [];
  const seen = new Set<string>();
  const waiting = [root];
  while (found.length <= checkedFilesMax) {
    const folder = waiting.shift();
    if (folder === undefined) break;
    const { dev, ino } = statSync(folder, { throwIfNoEntry: false }) ?? { dev: 0, ino: 0 };
    if (seen.has(`${dev}:${ino}`)) continue;
    seen.add(`${dev}:${ino}`);
    for (const { name } of entriesIfThere(folder)) {
      const path = join(folder, name);
      const stat = statSync(path, { throwIfNoEntry: false });
      if (stat?.isDirectory() && name !== ".git") waiting.push(path);
      else if (stat?.isFile() && templateEndings.test(name)) found.push(path);
    }
  }
  return found;
}

/** A file's text, or its first bytes if it grows meanwhile. */
function textOf(path: string): string {
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(Math.min(pillarFileBytesMax, fstatSync(file).size));
    return bytes.toString("utf8", 0, readSync(file, bytes, 0, bytes.length, 0));
  } finally {
    closeSync(file);
  }
}
