/** The corpus with which real Salt was asked, and its answers, recorded by record.py. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSaltYaml } from "../../src/config/yaml/salt-yaml.ts";
import { repositoryRoot } from "../root.ts";

const directory = join(repositoryRoot, "test", "pillar");

export function corpusOf<T>(name: string): T {
  const read = parseSaltYaml(readFileSync(join(directory, "corpus", `${name}.yaml`), "utf8"));
  if ("faults" in read) throw new Error(JSON.stringify(read.faults));
  return read.value as T;
}

export function answersOf<T>(name: string): Record<string, T> {
  const text = readFileSync(join(directory, "golden", `${name}.json`), "utf8");
  return (JSON.parse(text) as { results: Record<string, T> }).results;
}
