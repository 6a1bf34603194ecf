/**
 * Writes docs/config.md, errors.md, limits.md, metrics.md, runners.md, house.svg, layers.svg, the manual pages and the dashboard for Grafana from
 * the tables and folders of src, so that they list exactly what exists. `npm run docs` runs it; test/tidy.test.ts compares.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { allowedText } from "../src/config/check-value.ts";
import { packageRoot } from "../src/config/host/program.ts";
import { masterOptionGroups, masterOptions } from "../src/config/options/master.ts";
import { minionOptionGroups } from "../src/config/options/minion.ts";
import type { Option, OptionTable } from "../src/config/options/option.ts";
import { unbuiltOptions } from "../src/config/options/unbuilt.ts";
import { errorCodes } from "../src/errors.ts";
import * as limits from "../src/limits.ts";
import { counterText, limitCounters } from "../src/master/metrics/limit-counters.ts";
import { type Metric, metricGroups } from "../src/master/metrics/table.ts";
import type { RunnerFunction } from "../src/runners/contract/contract.ts";
import { argumentWords } from "../src/runners/contract/doc-text.ts";
import { runnerFunctions } from "../src/runners/registry.ts";
import { wheelFunctions } from "../src/runners/wheel.ts";
import { houseDrawing } from "./draw-house.ts";
import { layersDrawing } from "./draw-layers.ts";
import { grafanaDashboard } from "./grafana.ts";
import { manualPages } from "./man.ts";
import { memorySection } from "./memory.ts";

const generatedNote = "<!-- Written by `npm run docs`. Change the table in src instead. -->";

/** A default value in the form of a configuration file. */
function shownDefault(option: Option<unknown>): string {
  if (option.default === null) return "not set";
  if (option.default === "") return "empty";
  if (typeof option.default === "object") return `\`${JSON.stringify(option.default)}\``;
  return `\`${String(option.default)}\``;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}

function keptMark(name: string, option: Option<unknown>): string {
  const isRefused = Object.hasOwn(unbuiltOptions, name) && masterOptions[name as keyof typeof masterOptions] === option;
  return isRefused ? "*[Refuses the start](#options-that-are-not-built).*" : "*Read and kept; nothing acts on it yet.*";
}

function optionRow(name: string, option: Option<unknown>): string {
  const marks = [option.isOurs ? "*Saltworks only.*" : "", option.isKept ? keptMark(name, option) : ""];
  const about = [option.about, ...marks].filter((part) => part !== "").join(" ");
  return `| \`${name}\` | ${cell(shownDefault(option))} | ${cell(allowedText(option))} | ${cell(about)} |`;
}

function roleSection(title: string, groups: Readonly<Record<string, OptionTable>>): string[] {
  const lines = [`## ${title}`, ""];
  for (const [group, table] of Object.entries(groups)) {
    lines.push(`### ${group}`, "", "| option | default | allowed | meaning |", "| --- | --- | --- | --- |");
    lines.push(...Object.entries(table).map(([name, option]) => optionRow(name, option)), "");
  }
  return lines;
}

const configIntroduction = `# Configuration

Saltworks reads Salt's own files: \`master\` and \`minion\` in the directory that \`-c\` names (default \`/etc/salt\`). Names,
forms and defaults are Salt's, so an existing file works unchanged. [compatibility.md](compatibility.md) says what
differs.

- **Order.** The main file comes first. The files of \`default_include\` (\`master.d/*.conf\`, by name) replace whole keys
  of it. The files of \`include\` replace whole keys of both. Files that one setting includes are merged with each other:
  maps key by key, lists one after the other without repeats.
- **YAML** is read as Salt reads it, as version 1.1: \`yes\`, \`no\`, \`on\` and \`off\` are booleans, \`1:30\` is 90, \`0644\` is
  644, and dates are text. A key that comes twice is an error, and so is unquoted \`{{ jinja }}\`.
- **Unknown options** are kept, because operators keep settings of their own and of plug-ins there. The log reports a
  name that is nearly a known one.
- **Wrong values** end the start. They are reported together, each with file and line. (Salt starts with most of them.)
  \`null\` means "not written".
- **Directories** are put under \`root_dir\`, absolute ones too, unless they are there already.
- **\`id\`.** A minion without one takes the first line of \`<root_dir>/etc/salt/minion_id\`, else the host's full name. A
  master does the same and appends \`_master\`.
`;

const unbuiltIntroduction = `## Options that are not built

These options feed minions or guard something, and this master does not have them. A value that asks for one refuses the
start with file and line, because the fleet would otherwise get less than its operators believe.
\`accept_missing: [NAME, ..]\` starts without it, with a warning at each start. An empty value in a later file
(\`ext_pillar: []\` in \`master.d/saltworks.conf\`) says that nothing of it is needed.

An accepted option that would feed pillars puts an error into each pillar (\`_errors\`). Minions then refuse state runs.
An accepted option that would feed files or highstates adds a state that no file has to each highstate. That state fails
and names the source. Single states whose files are all in \`file_roots\` run.
`;

function unbuiltSection(): string[] {
  const consequences = { pillar: "every pillar has an error", highstate: "every highstate fails" } as const;
  const rows = Object.entries(unbuiltOptions).map(
    ([name, { about, warns }]) =>
      `| \`${name}\` | ${cell(about)} | ${warns === undefined ? "" : consequences[warns]} |`,
  );
  return [unbuiltIntroduction, "| option | what Salt does with it | accepted |", "| --- | --- | --- |", ...rows, ""];
}

export function configDoc(): string {
  const lines = [generatedNote, configIntroduction];
  lines.push(...roleSection("Master", masterOptionGroups), ...unbuiltSection());
  lines.push(...roleSection("Minion", minionOptionGroups));
  return `${lines.join("\n").trimEnd()}\n`;
}

export function errorsDoc(): string {
  const rows = Object.entries(errorCodes).map(
    ([code, { http, retry, about }]) => `| \`${code}\` | ${http} | ${retry ? "yes" : "no"} | ${cell(about)} |`,
  );
  const errorsIntroduction = `# Error codes

Every error of this program carries one of these codes. Codes are permanent: never renamed, never reused. \`HTTP\` is the
status in the HTTP API. \`retry\` says whether the same call may succeed later without a
change.
`;
  return `${[generatedNote, errorsIntroduction, "| code | HTTP | retry | meaning |", "| --- | --- | --- | --- |", ...rows].join("\n")}\n`;
}

/** The sources of all limits, in the order in which src/limits.ts exports them. */
export function limitsSource(root: string): string {
  const table = readFileSync(join(root, "src/limits.ts"), "utf8");
  const paths = [...table.matchAll(/^export \* from "\.\/(limits\/\w+\.ts)"/gm)].map(([, path = ""]) => path);
  return paths.map((path) => readFileSync(join(root, "src", path), "utf8")).join("");
}

/** Name and comment of each limit, in the file's order. Leaves out a limit without a comment; the test reports it. */
export function describedLimits(source: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, comment = "", name = ""] of source.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*export const (\w+)/g)) {
    found.set(name, comment.replaceAll(/\s*\n\s*\*\s?/g, " ").trim());
  }
  return found;
}

/** Names of limits under each heading of the file, in its order. */
export function limitHeadings(source: string): Map<string, string[]> {
  const headings = new Map<string, string[]>();
  let names: string[] = [];
  for (const [, heading, name] of source.matchAll(/^\/\/ # (.+)$|^export const (\w+)/gm)) {
    if (heading !== undefined) {
      names = [];
      headings.set(heading, names);
    } else if (name !== undefined) names.push(name);
  }
  return headings;
}

function limitTables(source: string): string[] {
  const values: Readonly<Record<string, unknown>> = limits;
  const described = describedLimits(source);
  const rowOf = (name: string) =>
    `| \`${name}\` | ${shownNumber(values[name])} | ${cell(described.get(name) ?? "")} | ${counterCell(name)} |`;
  return [...limitHeadings(source)].flatMap(([heading, names]) =>
    names.length === 0
      ? []
      : [
          `## ${heading}`,
          "",
          "| limit | value | reason | counter |",
          "| --- | --- | --- | --- |",
          ...names.map(rowOf),
          "",
        ],
  );
}

/** 1048576 as 1,048,576. */
function shownNumber(value: unknown): string {
  return typeof value === "number" ? value.toLocaleString("en-US") : JSON.stringify(value);
}

function counterCell(name: string): string {
  const counter = limitCounters[name];
  return counter === undefined ? "" : `\`${counterText(counter)}\``;
}

export function limitsDoc(source: string): string {
  const options = Object.keys(limitCounters)
    .filter((name) => Object.hasOwn(masterOptions, name))
    .map((name) => `| \`${name}\` | ${counterCell(name)} |`);
  const limitsIntroduction = `# Limits

Bounds and timeouts that are not options; [config.md](config.md) has the options. The unit is in the name or in the
text. The counter grows when the master refuses, drops or cuts something for that bound; [metrics.md](metrics.md) says
how to scrape it. Bounds of a minion or of a command have no counter: the minion's log or the command itself reports
them.
`;
  const optionsIntroduction = `## Options that bound

The same for options of the master.
`;
  return `${[
    generatedNote,
    limitsIntroduction,
    ...memorySection(),
    "",
    ...limitTables(source),
    optionsIntroduction,
    "| option | counter |",
    "| --- | --- |",
    ...options,
  ].join("\n")}\n`;
}

const metricsIntroduction = `# Metrics

One endpoint serves the whole master, every worker thread included, in Prometheus' text format, or as OpenMetrics for
clients that ask for it. Clients that accept gzip get a seventh of the bytes. It is off until \`metrics_port\` is
set:

\`\`\`yaml
metrics_port: 4510          # metrics_interface: 127.0.0.1
\`\`\`

\`\`\`yaml
scrape_configs:
  - job_name: saltworks
    static_configs: [{ targets: ["127.0.0.1:4510"] }]
rule_files: [/opt/saltworks/packaging/prometheus/saltworks.rules.yml]
\`\`\`

- \`packaging/prometheus/saltworks.rules.yml\` has alerts: on a master that is down, slow or full, on faults of the disk,
  lost threads, limits that were met, guessed passwords, databases that are behind, and more.
- \`packaging/grafana/saltworks.json\` is a dashboard for Grafana (Dashboards, Import). Its variables choose the data
  source, the job and the masters.

\`saltworks top\` shows the same figures in a terminal. It asks by the request port with the local key and needs no
endpoint.

- **Cost.** Workers add up plain numbers, once per batch. Names are added when a scrape or \`saltworks top\` asks. A
  scrape costs a few milliseconds of the main thread.
- **Workers** are asked at each scrape and have ${limits.metricsWorkerTimeoutMs} ms to answer. A worker that is busy or hangs shows its last
  values, and \`saltworks_worker_stale\` is 1. A replaced worker counts from 0 again, which \`rate()\` understands. Sums
  over all workers (\`saltworks_limit_hits_total\`) and CPU time by thread's name never go down.
- **Time per request** of a stage: \`rate(saltworks_stage_seconds_sum[1m]) / on(worker) group_left
  rate(saltworks_batch_items_sum[1m])\`.
- **How near a limit is**: \`saltworks_limit_used / saltworks_limit_max\`. \`increase(saltworks_limit_hits_total[5m]) > 0\`
  says that it was met.
- **Nothing of a minion** is in any label: no ids, no functions, no targets. \`command\` is one of Salt's commands or
  \`other\`.
`;

export function metricsDoc(): string {
  const lines = [generatedNote, metricsIntroduction];
  for (const [group, table] of Object.entries(metricGroups)) {
    lines.push(`## ${group}`, "", "| metric | kind | labels | meaning |", "| --- | --- | --- | --- |");
    for (const [name, { kind, labels, help }] of Object.entries<Metric>(table)) {
      const shownLabels = labels.map((label) => `\`${label}\``).join(", ");
      lines.push(`| \`${name}\` | ${kind} | ${shownLabels} | ${cell(help)} |`);
    }
    lines.push("");
  }
  return `${lines.join("\n").trimEnd()}\n`;
}

const runnersIntroduction = `# Runner and wheel functions

\`saltworks run FUNCTION [argument ..] [name=value ..]\` calls runner functions. Clients of Salt's protocol call wheel
functions (\`cmd: wheel\`). Names, arguments, forms of results and error texts are those of Salt 3007;
[compatibility.md](compatibility.md) says what differs. Arguments in capitals must be given. Functions that are marked
*offline* also work while the master is down. \`saltworks\`, \`jobs.states\` and others that Salt does not have are ours.
`;

function functionRows(functions: ReadonlyMap<string, RunnerFunction>): string[] {
  const sorted = [...functions].sort(([a], [b]) => (a < b ? -1 : 1));
  const rows = sorted.map(([name, described]) => {
    const mark = described.isOffline ? " *Offline.*" : "";
    return `| \`${name}\` | ${cell(argumentWords(described).join(" "))} | ${cell(described.doc)}${mark} |`;
  });
  return ["| function | arguments | what it does |", "| --- | --- | --- |", ...rows];
}

export function runnersDoc(): string {
  const runners = ["## Runners", "", ...functionRows(runnerFunctions), ""];
  const wheels = ["## Wheel functions", "", ...functionRows(wheelFunctions)];
  return `${[generatedNote, runnersIntroduction, ...runners, ...wheels].join("\n")}\n`;
}

/** The documents by their path in the repository. */
export function generatedDocs(root = packageRoot()): Map<string, string> {
  return new Map([
    ["docs/config.md", configDoc()],
    ["docs/errors.md", errorsDoc()],
    ["docs/limits.md", limitsDoc(limitsSource(root))],
    ["docs/metrics.md", metricsDoc()],
    ["docs/house.svg", houseDrawing(root)],
    ["docs/layers.svg", layersDrawing(root)],
    ...manualPages(),
    ["docs/runners.md", runnersDoc()],
    ["packaging/grafana/saltworks.json", grafanaDashboard()],
  ]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [path, text] of generatedDocs()) writeFileSync(join(packageRoot(), path), text);
}
