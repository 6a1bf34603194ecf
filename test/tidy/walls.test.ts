/** Walls between rooms: how many files a folder holds, arrows between folders, code and comments that stand twice, words that read badly. */
import { existsSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { describe, it } from "node:test";
import { repositoryRoot } from "../root.ts";
import { alikeCodeMin, bannedWords, folderFilesMax } from "./layers.ts";
import { importedPaths, inSources, none, paths, sources, textOf } from "./tree.ts";

/** Imports of files under `root`, types included: file by file. */
function importsUnder(root: string): Map<string, readonly string[]> {
  const inside = [...sources].filter(([path]) => path.startsWith(root));
  return new Map(
    inside.map(([path, facts]) => [path, importedPaths(path, facts).filter((target) => sources.has(target))]),
  );
}

/** The circles that a walk in depth comes upon, each as `a > b > a`. */
function circlesOf(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (node: string, way: readonly string[]) => {
    const at = way.indexOf(node);
    if (at >= 0) circles.push([...way.slice(at), node].join(" > "));
    if (at >= 0 || done.has(node)) return;
    for (const next of graph.get(node) ?? []) visit(next, [...way, node]);
    done.add(node);
  };
  for (const node of graph.keys()) visit(node, []);
  return circles;
}

function grouped(texts: readonly string[], keyOf: (text: string) => string): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const text of texts) groups.set(keyOf(text), [...(groups.get(keyOf(text)) ?? []), text]);
  return groups;
}

describe("rooms", () => {
  it(`hold at most ${folderFilesMax} files`, () => {
    const folders = grouped(
      paths.filter((path) => /^(?:src|test|bench|scripts)\//.test(path)),
      (path) => dirname(path),
    );
    none(
      [...folders]
        .filter(([, files]) => files.length > folderFilesMax)
        .map(([name, { length }]) => `${name}: ${length}`),
    );
  });

  it("have no circle of imports, not by types either", () => {
    none(circlesOf(importsUnder("")));
  });

  it("of src import one another in one direction only", () => {
    const arrows = new Map<string, string>();
    for (const [path, targets] of importsUnder("src/")) {
      for (const target of targets) arrows.set(`${dirname(path)} > ${dirname(target)}`, `${path} imports ${target}`);
    }
    const isBoth = (arrow: string) => {
      const [from, to] = arrow.split(" > ");
      return from !== to && arrows.has(`${to} > ${from}`);
    };
    none([...arrows].filter(([arrow]) => isBoth(arrow)).map(([arrow, example]) => `${arrow}: ${example}`));
  });
});

describe("code and comments", () => {
  it("stand once: no two functions have the same code", () => {
    const places = inSources((path, { functions }) =>
      functions.filter(({ code }) => code.length > alikeCodeMin).map(({ line, code }) => `${path}:${line}\n${code}`),
    );
    const alike = grouped(places, (place) => place.slice(place.indexOf("\n")));
    const names = [...alike.values()].filter(({ length }) => length > 1);
    none(names.map((same) => same.map((place) => place.split("\n")[0]).join(" ")));
  });

  it("have one doc block before what it describes", () => {
    none(
      inSources((path, { comments }) =>
        comments.filter(({ isSecondDoc }) => isSecondDoc).map(({ line }) => `${path}:${line}: a second doc block`),
      ),
    );
  });

  it("name documents that exist", () => {
    const findings = inSources((path, { comments }) =>
      comments.flatMap(({ text, line }) =>
        [...text.matchAll(/\bdocs\/[\w./-]+\.md\b/g)]
          .filter(([name]) => !existsSync(join(repositoryRoot, name)))
          .map(([name]) => `${path}:${line}: ${name}`),
      ),
    );
    none(findings);
  });

  it("say who and how many", () => {
    const inCode = inSources((path, { comments, strings }) =>
      [...comments, ...(path.startsWith("src/") ? strings : [])].flatMap(({ text, line }) =>
        (text.match(bannedWords) ?? []).map((word) => `${path}:${line}: ${word}`),
      ),
    );
    const documents = paths.filter((path) => path.endsWith(".md") && !posix.basename(path).startsWith("_"));
    const inDocuments = documents.flatMap((path) =>
      textOf(path)
        .split("\n")
        .flatMap((text, index) => (text.match(bannedWords) ?? []).map((word) => `${path}:${index + 1}: ${word}`)),
    );
    none([...inCode, ...inDocuments]);
  });
});
