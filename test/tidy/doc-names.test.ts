/** Names in documents exist: files of links, headings of anchors, paths, commands, scenarios, metrics, constants. So do sections in comments. */
import assert from "node:assert/strict";
import { existsSync, statSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { describe, it } from "node:test";
import { commandAbouts } from "../../src/cli/options/command-list.ts";
import { metricGroups } from "../../src/master/metrics/table.ts";
import { repositoryRoot } from "../root.ts";
import { inSources, none, paths, roots, textOf } from "./tree.ts";

/** Columns of a document's line. Tables and code may be longer. */
const columnsMax = 120;
/** Two thirds of what it once had: decisions and generated tables hold the details. */
const architectureWordsMax = 2_200;
const documents = paths.filter((path) => path.endsWith(".md"));
const code = paths.filter((path) => /\.(?:ts|mjs|js|c|json)$/.test(path)).map(textOf);
const scenarioNames = code.flatMap((text) => [...text.matchAll(/\bname: "([\w-]+)"/g)].map(([, name]) => name));
const words = new Set(code.flatMap((text) => text.match(/\w+/g) ?? []));
/** Names of other programs, and former names in the changelog. */
const otherNames: readonly string[] = ["useWritemap", "installJinjaCompat", "heldRequestsBytesMax"];
/** Words that `saltworks bench` accepts in place of a scenario. */
const benchWords: readonly string[] = ["agent", "compare", "keys", "record", "report", "trend"];

/** The result of `find` for the first group of every match of `pattern` in every document. */
function inDocuments(
  pattern: RegExp,
  find: (name: string, path: string) => string | undefined,
  readDocument = textOf,
): string[] {
  return documents.flatMap((path) => {
    const found = [...readDocument(path).matchAll(pattern)].map(([, name = ""]) => find(name, path));
    return found.filter((finding) => finding !== undefined).map((finding) => `${path}: ${finding}`);
  });
}

const withoutCode = (text: string) => text.replaceAll(/```[\s\S]*?```/g, "").replaceAll(/`[^`\n]*`/g, "``");

const headingsOf = (path: string) => [...textOf(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => heading);

/** GitHub's anchors of a document's headings. */
function anchorsOf(path: string): Set<string> {
  return new Set(
    headingsOf(path).map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

/** `test/fleet/golden-*.test.ts` and `bench/{a,b}.ts` are patterns; `docs/man` is a folder. */
function exists(path: string): boolean {
  const plain = path.replace(/\/$/, "");
  if (!/[*{]/.test(plain)) return existsSync(join(repositoryRoot, plain));
  const pattern = plain
    .replaceAll(/[.+?^$()|[\]\\]/g, "\\$&")
    .replaceAll("**", "\0")
    .replaceAll("*", "[^/]*")
    .replaceAll("\0", ".*")
    .replaceAll(/\{([^}]*)\}/g, (_, names: string) => `(?:${names.replaceAll(",", "|")})`);
  return paths.some((known) => new RegExp(`^${pattern}(?:/|$)`).test(known));
}

describe("documents name what exists", () => {
  it("files and headings behind relative links", () => {
    none(
      inDocuments(
        /\]\((?!https?:|mailto:)([^)\s]+)\)/g,
        (link, path) => {
          const [file = "", anchor] = link.split("#");
          const target = file === "" ? path : posix.join(dirname(path), file);
          if (!existsSync(join(repositoryRoot, target))) return `${link} leads nowhere`;
          if (anchor === undefined || statSync(join(repositoryRoot, target)).isDirectory()) return undefined;
          return anchorsOf(target).has(anchor) ? undefined : `${link}: no such heading`;
        },
        (path) => withoutCode(textOf(path)),
      ),
    );
  });

  it("paths of the repository", () => {
    const pattern = new RegExp(`\`((?:${roots.join("|").replaceAll(".", "\\.")})/[\\w./*{},-]+)\``, "g");
    none(inDocuments(pattern, (path) => (exists(path) ? undefined : `${path} does not exist`)));
  });

  it("source files, by their whole path or by their name alone", () => {
    /** `NAME.mjs` stands for a file of the reader. */
    const isThere = (name: string) =>
      /^[A-Z]+\./.test(name) || exists(name) || paths.some((path) => path.endsWith(`/${name}`) && !name.includes("/"));
    none(
      inDocuments(/`([\w.*{},/-]+\.(?:ts|mjs))`/g, (name) => (isThere(name) ? undefined : `${name} does not exist`)),
    );
  });

  it("commands of saltworks, and scenarios of its bench", () => {
    const commands = new Set(Object.keys(commandAbouts));
    const scenarios = new Set([...scenarioNames, ...benchWords]);
    const isScenario = (name: string) => scenarios.has(name) || name.startsWith("-") || /^[A-Z]/.test(name);
    none([
      ...inDocuments(/`(?:bin\/)?saltworks ([a-z][\w-]*)/g, (name) =>
        commands.has(name) || name === "help" ? undefined : `saltworks ${name} is not a command`,
      ),
      ...inDocuments(/saltworks bench ([\w-]+)(?![\w-]|\.ya?ml)/g, (name) =>
        isScenario(name) ? undefined : `no scenario ${name}`,
      ),
    ]);
  });

  it("metrics and constants", () => {
    const metrics = new Set(Object.values(metricGroups).flatMap((group) => Object.keys(group)));
    const isMetric = (name: string) => metrics.has(name) || metrics.has(name.replace(/_(?:sum|count|bucket)$/, ""));
    const isUsed = (name: string) => words.has(name) || otherNames.includes(name);
    none([
      ...inDocuments(/\b(saltworks_[a-z_]+[a-z])\b(?!\.\w)/g, (name) =>
        isMetric(name) ? undefined : `${name} is not a metric`,
      ),
      ...inDocuments(/`([a-z]+[A-Z]\w*)`/g, (name) => (isUsed(name) ? undefined : `${name} is not in the code`)),
    ]);
  });
});

describe("comments cite sections that exist", () => {
  const cited = (pattern: RegExp, find: (document: string, section: string) => string | undefined) =>
    none(
      inSources((path, { comments }) =>
        comments.flatMap(({ text, line }) => {
          const places = [...text.replaceAll(/\s*\n\s*\*?\s*/g, " ").matchAll(pattern)];
          const findings = places.map(([, document = "", section = ""]) => find(document, section));
          return findings.filter((finding) => finding !== undefined).map((finding) => `${path}:${line}: ${finding}`);
        }),
      ),
    );

  it(`by heading, as docs/NAME.md, "Heading"`, () => {
    cited(/\b(docs\/[\w./-]+\.md)(?:, | \((?=the))(?!\S+\.md)("[^"]*"|[^.;]*)/g, (document, section) =>
      headingsOf(document).some((heading) => `"${heading}"` === section) ? undefined : `${document} has no ${section}`,
    );
  });

  it("by number, as docs/NAME.md section 2.1", () => {
    cited(/\b(docs\/[\w./-]+\.md)`? sections? ([\d., and]*\d)/g, (document, numbers) => {
      const headings = headingsOf(document);
      const missing = (numbers.match(/\d+(?:\.\d+)*/g) ?? []).filter(
        (number) => !headings.some((heading) => heading.startsWith(`${number} `) || heading.startsWith(`${number}. `)),
      );
      return missing.length === 0 ? undefined : `${document} has no section ${missing.join(", ")}`;
    });
  });
});

describe("documents", () => {
  it(`stay short: ARCHITECTURE.md has at most ${architectureWordsMax} words`, () => {
    const words = textOf("docs/ARCHITECTURE.md").trim().split(/\s+/);
    assert.ok(words.length <= architectureWordsMax, `${words.length} words`);
  });

  it(`wrap at ${columnsMax} columns, but for tables and code`, () => {
    none(
      documents.flatMap((path) => {
        const lines = textOf(path)
          .replaceAll(/^ *```[\s\S]*?^ *```$/gm, (block) => block.replaceAll(/.+/g, ""))
          .split("\n");
        return lines.flatMap((line, index) =>
          line.length > columnsMax && !/^\s*\|/.test(line) ? [`${path}:${index + 1}: ${line.length}`] : [],
        );
      }),
    );
  });
});
