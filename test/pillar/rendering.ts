/** Renders single templates with the grains that record.py gave to real Salt. */

import { mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, posix } from "node:path";
import { loadMasterConfig, type Overrides } from "../../src/config/load.ts";
import { PillarFiles } from "../../src/pillar/input/files.ts";
import { type PillarSettings, pillarSettings } from "../../src/pillar/input/settings.ts";
import { loadYaml } from "../../src/pillar/input/yaml.ts";
import { type ParsedTemplate, renderTemplate } from "../../src/pillar/jinja/run/template.ts";
import { parseTemplate } from "../../src/pillar/jinja/syntax/parser.ts";
import { saltFunctions } from "../../src/pillar/salt-functions.ts";
import type { Dict, Item } from "../../src/python/values.ts";
import type { Value, ValueMap } from "../../src/wire/values.ts";

const plainGrains = `
id: web1.example.org
os: Debian
os_family: Debian
osmajorrelease: 12
num_cpus: 4
mem_total: 7950
roles: [web, cache]
ipv4: [127.0.0.1, 10.0.0.5]
fqdn: web1.example.org
kernel: Linux
nested: {a: {b: deep}, list: [{name: x}, {name: y}]}
virtual: physical
saltversion: '3007.1'
empty: ''
zero: 0
none: null
ratio: 1.5
whole: 2.0
flag: true
`;

export function grains(): ValueMap {
  const value = loadYaml(plainGrains);
  if (!(value instanceof Map)) throw new Error("grains are a map");
  return value;
}

/** A value of the corpus, with maps. */
export function valueFrom(value: unknown): Value {
  if (Array.isArray(value)) return value.map(valueFrom);
  if (typeof value !== "object" || value === null) return (value ?? null) as Value;
  return new Map(Object.entries(value).map(([key, member]): [Value, Value] => [key, valueFrom(member)]));
}

/** Writes a file below `root`, with its directories. */
export function writeBelow(root: string, path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

/** Settings of a master without a configuration file. */
export function settingsOf(options: Overrides = {}): PillarSettings {
  return pillarSettings(loadMasterConfig(join(tmpdir(), "no-such-directory"), options));
}

/** `files` by path below the root. */
export function renderOne(source: string, files: Record<string, string> = {}): string {
  const opts: Dict = new Map<Item, Item>([
    ["id", "web1.example.org"],
    ["custom", new Map([["a", 1]])],
  ]);
  const minion = { id: "web1.example.org", grains: grains() };
  const salt = saltFunctions({ minion, settings: settingsOf(), files: new PillarFiles(), opts: () => opts });
  const parse = (name: string, text: string): ParsedTemplate => ({
    name,
    body: parseTemplate(text.replace(/(?:\r\n|\r|\n)$/, ""), { trimBlocks: false, lstripBlocks: false }),
  });
  const text = renderTemplate(
    {
      globals: [
        ["grains", minion.grains],
        ["opts", opts],
        ["pillar", new Map()],
        ["salt", salt],
        ["saltenv", "base"],
        ["sls", "case"],
        ["tpldir", "."],
        ["tplfile", "case.sls"],
      ],
      globalsOf: () => [],
      loadYaml: (yaml) => loadYaml(yaml),
      load: (name, from) => {
        const path = name.startsWith(".") ? posix.normalize(posix.join(posix.dirname(from), name)) : name;
        const found = files[path];
        return found === undefined ? undefined : parse(path, found);
      },
    },
    parse("case.sls", source),
    [],
  );
  return source.endsWith("\n") ? `${text}\n` : text;
}
