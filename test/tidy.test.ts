/** Rules of the tree: imports between folders, lengths of files and functions, names, and documents that list what exists. */
import assert from "node:assert/strict";
import { basename } from "node:path";
import { describe, it } from "node:test";
import { describedLimits, generatedDocs, limitsSource } from "../scripts/docs.ts";
import type { OptionTable } from "../src/config/options/option.ts";
import { masterOptions, minionOptions } from "../src/config/schema.ts";
import * as limits from "../src/limits.ts";
import { repositoryRoot } from "./root.ts";
import { fileLinesMax, forbiddenNames, functionLinesMax, layers, openToAll, packageHomes } from "./tidy/layers.ts";
import type { SourceFacts } from "./tidy/source-file.ts";
import { importedPaths, inSources, none, paths, textOf } from "./tidy/tree.ts";

/** `src/store/keys/keys.ts` is in `store`; `src/errors.ts` is `errors`. */
function layerOf(path: string): string | undefined {
  return /^src\/([^/]+?)(?:\.ts)?(?:\/|$)/.exec(path)?.[1];
}

describe("the house", () => {
  it("names in its table only folders that stand above, and every folder of src", () => {
    const order = Object.keys(layers);
    none(
      order.flatMap((layer, index) => (layers[layer] ?? []).filter((name) => !order.slice(0, index).includes(name))),
    );
    const folders = new Set(paths.filter((path) => /^src\/[^/]+\//.test(path)).map((path) => layerOf(path) ?? ""));
    none([...folders].filter((folder) => !(folder in layers || openToAll.some((name) => name === folder))));
  });

  it("imports only in the directions of its table", () => {
    const findings = inSources((path, facts) => {
      const layer = layerOf(path);
      if (layer === undefined) return [];
      const allowed = new Set<string>([
        ...openToAll,
        ...(openToAll.some((name) => name === layer) ? [] : [layer]),
        ...(layers[layer] ?? []),
      ]);
      const wrong = importedPaths(path, facts).filter((target) => !allowed.has(layerOf(target) ?? target));
      return wrong.map((target) => `${path} imports ${target}`);
    });
    none(findings);
  });

  it("keeps errors and limits free of imports", () => {
    none(
      inSources((path, facts) =>
        /^src\/(?:errors\.ts$|limits[./])/.test(path)
          ? importedPaths(path, facts).filter((target) => !/^src\/limits\//.test(target))
          : [],
      ),
    );
  });

  it("names each replaceable package in its own files only", () => {
    const findings = inSources((path, { specifiers }) => {
      const elsewhere = specifiers.filter((name) => packageHomes[name]?.includes(path) === false);
      return path.startsWith("src/") ? elsewhere.map((name) => `${path} imports ${name}`) : [];
    });
    none(findings);
  });

  it("imports with the extension that the file has", () => {
    none(
      inSources((path, facts) =>
        importedPaths(path, facts)
          .filter((target) => !/\.(?:tsx?|json|mjs)$/.test(target))
          .map((target) => `${path}: ${target}`),
      ),
    );
  });
});

describe("files and functions", () => {
  it(`have at most ${fileLinesMax} and ${functionLinesMax} lines`, () => {
    const findings = inSources((path, { lineCount, functions }) => {
      const isLong = lineCount > fileLinesMax;
      // A suite is a list of tests, so its length does not count.
      const longOnes = functions.filter((place) => place.lineCount > functionLinesMax && place.calledBy !== "describe");
      return [
        ...(isLong ? [`${path}: ${lineCount} lines`] : []),
        ...longOnes.map((place) => `${path}:${place.line}: a function of ${place.lineCount} lines`),
      ];
    });
    none(findings);
  });

  it("have names that say what they hold", () => {
    const isForbidden = (part: string) => forbiddenNames.some((name) => name === part);
    const ours = paths.filter((path) => /^(?:src|test|bench|scripts)\//.test(path));
    none(ours.filter((path) => path.split("/").some((part) => isForbidden(basename(part).split(".")[0] ?? ""))));
  });

  it("open with a comment that says what they are", () => {
    // A test file's name and titles say what it is.
    const isSilent = (path: string, { opening = "" }: SourceFacts) =>
      !path.endsWith(".test.ts") && opening.trim().length < 20;
    none(inSources((path, facts) => (isSilent(path, facts) ? [path] : [])));
  });

  it("swallow no error", () => {
    none(inSources((path, { emptyCatchLines }) => emptyCatchLines.map((line) => `${path}:${line}: an empty catch`)));
  });

  it("of src print nothing but through the command line, and read no environment below it", () => {
    const isFree = (path: string) => !path.startsWith("src/") || /^src\/(?:cli\/|[^/]+\/main\.ts$)/.test(path);
    none(
      inSources((path, { globals }) =>
        isFree(path) ? [] : globals.map(({ name, line }) => `${path}:${line}: ${name}`),
      ),
    );
  });

  it("hold no path of the machine on which they were written", () => {
    const machinePath = new RegExp(`(?<![\\w.])/${"work"}/`);
    const texts = paths.filter((path) => /\.(?:ts|mjs|json|md|py|yml|yaml|sh)$/.test(path) || path.startsWith(".ci/"));
    none(texts.filter((path) => machinePath.test(textOf(path))));
  });
});

describe("generated documents", () => {
  for (const [path, text] of generatedDocs(repositoryRoot)) {
    it(`${path} is what \`npm run docs\` writes`, () => assert.equal(textOf(path), text));
  }

  it("list every limit, each with a reason", () => {
    const described = describedLimits(limitsSource(repositoryRoot));
    none(Object.keys(limits).filter((name) => (described.get(name) ?? "").length < 20));
  });

  const roles: readonly [string, OptionTable, RegExp][] = [
    ["master", masterOptions, /^src\/(?!minion\/)/],
    ["minion", minionOptions, /^src\/(?:minion|config|cli)\//],
  ];
  const isOptionTable =
    /^src\/(?:config\/options\/(?:content|jinja|jobs|master|minion|unbuilt)|(?:config|cli)\/.*-(?:options|names))\.ts$/;
  for (const [role, table, folder] of roles) {
    it(`say of the ${role}'s options truly which ones nothing acts upon`, () => {
      const isReader = (path: string) => folder.test(path) && path.endsWith(".ts") && !isOptionTable.test(path);
      const code = paths.filter(isReader).map(textOf).join("\n");
      const isUsed = (name: string) =>
        new RegExp(`\\.${name}\\b|["']${name}["']|[{,]\\s*${name}\\b(?:,|:| \\})`).test(code);
      const isRead = (name: string) => new RegExp(`\\bconfig\\.${name}\\b`).test(code);
      const options = Object.entries(table);
      none([
        ...options
          .filter(([name, { isKept }]) => isKept && isRead(name))
          .map(([name]) => `${name} is marked as kept, yet read`),
        ...options
          .filter(([name, { isKept }]) => !isKept && !isUsed(name))
          .map(([name]) => `${name} is named nowhere: mark it as kept`),
      ]);
    });
  }
});
