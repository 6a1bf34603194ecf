/** Limits between folders: files in a folder, imports between folders, duplicate code and comments, and banned words. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { describe, it } from "node:test";
import { floorsOf, readHouse } from "../../scripts/house.ts";
import { repositoryRoot } from "../root.ts";
import { alikeCodeMin, bannedWords, folderFilesMax } from "./layers.ts";
import type { FunctionPlace } from "./source-file.ts";
import { importedPaths, inSources, none, paths, sources, textOf } from "./tree.ts";

/** Imports of files under `root`, types included, by file. */
function importsUnder(root: string): Map<string, readonly string[]> {
  const inside = [...sources].filter(([path]) => path.startsWith(root));
  return new Map(
    inside.map(([path, facts]) => [path, importedPaths(path, facts).filter((target) => sources.has(target))]),
  );
}

/** The circles that a depth-first walk finds, each as `a > b > a`. */
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

  it("of src form no circle, however many it has", () => {
    const rooms = new Map<string, string[]>();
    const examples = new Map<string, string>();
    for (const [path, targets] of importsUnder("src/")) {
      const room = dirname(path);
      for (const target of targets.filter((file) => dirname(file) !== room)) {
        rooms.set(room, [...(rooms.get(room) ?? []), dirname(target)]);
        examples.set(`${room} > ${dirname(target)}`, `${path} imports ${target}`);
      }
    }
    const exampleOf = ([from, to]: readonly string[]) => examples.get(`${from} > ${to}`) ?? "";
    none(circlesOf(rooms).map((circle) => `${circle}: ${exampleOf(circle.split(" > ").slice(-2))}`));
  });

  it("of three in a circle are found, and others are not", () => {
    const circle: [string, string[]][] = [
      ["a", ["b"]],
      ["b", ["c", "d"]],
      ["c", ["a", "d"]],
    ];
    assert.deepEqual(circlesOf(new Map(circle)), ["a > b > c > a"]);
    assert.deepEqual(circlesOf(new Map(circle.slice(0, 2))), []);
  });

  it("stand in docs/house.svg above all rooms that they import", () => {
    const folders = readHouse(repositoryRoot);
    assert.ok(folders.length > 10);
    for (const { name: folder, rooms } of folders) {
      const floors = floorsOf(rooms).map((floor) => floor.map(({ name }) => name));
      const lineOf = (room: string) => floors.findIndex((floor) => floor.includes(room));
      for (const { name, imports } of rooms) {
        const wrong = [...imports].filter((other) => lineOf(other) <= lineOf(name));
        none(wrong.map((other) => `${folder}: ${name} imports ${other}`));
      }
    }
  });

  it("of one job-cache driver are known to the drivers' folder alone", () => {
    const outside = [...importsUnder("src/")].filter(([path]) => !path.startsWith("src/store/drivers/"));
    const isOfOne = (target: string) => /^src\/store\/drivers\/(?!contract\/)[\w-]+\//.test(target);
    const imports = outside.flatMap(([path, targets]) => targets.filter(isOfOne).map((target) => `${path}: ${target}`));
    const named = outside.flatMap(([path]) =>
      /(?<![\w-])jobs\.lmdb/.test(textOf(path)) ? [`${path}: jobs.lmdb`] : [],
    );
    none([...imports, ...named]);
  });
});

describe("code and comments", () => {
  it("stand once: no two functions have the same code", () => {
    const isLong = ({ code, isNamed }: FunctionPlace) =>
      code.length > (isNamed ? alikeCodeMin.named : alikeCodeMin.others);
    const places = inSources((path, { functions }) =>
      functions.filter(isLong).map(({ line, code }) => `${path}:${line}\n${code}`),
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
    const inCode = inSources((path, { comments, strings, titles }) =>
      [...comments, ...titles, ...(/^(?:src|bench|scripts)\//.test(path) ? strings : [])].flatMap(({ text, line }) =>
        (text.match(bannedWords) ?? []).map((word) => `${path}:${line}: ${word}`),
      ),
    );
    const documents = paths.filter((path) => /\.(?:md|mjs|py)$/.test(path) && !posix.basename(path).startsWith("_"));
    const inDocuments = documents.flatMap((path) =>
      textOf(path)
        .replaceAll(/(["'])\w+\1/g, "")
        .split("\n")
        .flatMap((text, index) => (text.match(bannedWords) ?? []).map((word) => `${path}:${index + 1}: ${word}`)),
    );
    none([...inCode, ...inDocuments]);
  });
});
